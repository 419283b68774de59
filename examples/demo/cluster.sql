-- A company's cluster: 320 GPUs of five models in seven racks, two pools, and what five departments want to run.
IMPORT NODES FROM 'nodes.csv' WITH (create_missing = true);
CREATE QUEUE research;
CREATE QUEUE nlp UNDER research;
CREATE QUEUE vision UNDER research;
CREATE QUEUE product;
CREATE QUEUE search UNDER product;
CREATE QUEUE ads UNDER product;
CREATE QUEUE platform;
CREATE PRIORITY CLASS low VALUE -10;
CREATE PRIORITY CLASS normal VALUE 0;
CREATE PRIORITY CLASS high VALUE 10;
IMPORT JOBS FROM 'jobs.csv';

-- Three more, each of a kind that is hard to place.
SUBMIT JOB foundation IN QUEUE nlp PRIORITY high WITH (user = ann, tasks = 8, gpus = 8, cpu = 96, memory = 800GiB, models = H100, locality = rack);
SUBMIT JOB notebook IN QUEUE platform PRIORITY low WITH (user = bob, gpus = 0.5, gpu_memory = 40GiB, cpu = 4, memory = 16GiB, models = L40S);
SUBMIT JOB crawl IN QUEUE ads PRIORITY low WITH (user = eve, tasks = 40, min_tasks = 40, cpu = 48, memory = 128GiB);
