-- Names of nodes that differ in upper and lower case alone are refused; nodes are added by the thousand.

CREATE INDEX nodes_by_name_without_case ON nodes (name COLLATE NOCASE);
