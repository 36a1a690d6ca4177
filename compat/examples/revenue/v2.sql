-- Revenue by product, from orders.
CREATE TABLE orders (
  product STRING,
  amount  BIGINT,
  paid    BOOLEAN
) WITH ('connector' = 'datagen', 'rows-per-second' = '100');

CREATE TABLE revenue (
  product STRING,
  orders  BIGINT,
  total   BIGINT
) WITH ('connector' = 'print');

INSERT INTO revenue
SELECT product, COUNT(*), MAX(amount)
FROM orders
GROUP BY product;
