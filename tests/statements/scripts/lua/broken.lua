berth.exec("RUN SCHEDULE" 
