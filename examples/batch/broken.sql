-- Two of these three statements are wrong.
SUBMIT JOB weekly IN QUEUE bach WITH (gpus = 1);
SHOW PRIORITY CLASSES;
SUBMIT JOB monthly IN QUEUE batch WITH (gpu = 1);
