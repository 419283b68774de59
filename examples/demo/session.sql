-- The cluster of five departments: nodes, queues, priority classes, and hundreds of jobs that all want to start.
.read cluster.sql
SHOW CLUSTER;
SHOW QUEUES;
