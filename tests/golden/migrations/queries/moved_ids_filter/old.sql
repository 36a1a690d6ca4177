-- a filter upstream and a sum added
-- key: 1
CREATE TABLE p (id BIGINT) WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE q (id BIGINT) WITH ('connector'='datagen','rows-per-second'='60','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE o (k BIGINT, c0 BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT id, COUNT(*) FROM p GROUP BY id;
