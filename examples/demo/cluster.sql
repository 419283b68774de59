-- A company's cluster: 320 GPUs of five models in seven racks, two pools, and what five departments want to run.
SET score_policy = fgd;
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
