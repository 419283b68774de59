-- a cluster
CREATE NODE TYPE a100x8 WITH (cpu = 96, memory = 1TiB, devices = 8, model = A100);
CREATE NODES train[001-064] TYPE a100x8 IN POOL train; /* and a job */
SUBMIT JOB bert TO nlp WITH (gpus = 4, tasks = 8, memory = '64GiB');
EXPLAIN JOB "bert" ON NODE train001; SELECT name, 'it''s' FROM jobs WHERE id > 1/4;
