summary = "Defines nothing."
