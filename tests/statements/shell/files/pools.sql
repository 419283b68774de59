CREATE POOL one;
-- a comment; with a semicolon
CREATE POOL "two";
