-- The open orders of a series by account, which end together.
CREATE INDEX lock_orders_open ON lock_orders (series_id, account_id) WHERE status = 'open';
