-- A cluster like Alibaba's PAI and ten days of work for it, made up from the published statistics.
GENERATE NODES pai_like WITH (jobs = 300, gpus = 64, days = 10, seed = 7) INTO '${SCRATCH}/nodes.csv';
GENERATE TRACE pai_like WITH (jobs = 300, gpus = 64, days = 10, seed = 7) INTO '${SCRATCH}/jobs.csv';
