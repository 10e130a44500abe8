-- What the operator offers of a series: each batch of receipts that burns tokens asks for it.
CREATE INDEX lock_orders_stock ON lock_orders (series_id)
  WHERE account_id = 'operator' AND status = 'open' AND side = 'sell';
