-- Charges that nobody paid (free credits, and what the house bears) go to accounts of their own from now on, so that no share in coin
-- is taken of them. Earlier ones stay where they are: closed periods were shared out by them.
INSERT INTO ledger_accounts (id, kind, may_go_negative)
  SELECT 'revenue_unpaid:' || lpad(shard::text, 2, '0'), 'system', true FROM generate_series(0, 63) AS shard;

-- Since when charges are booked in this way, which is what the audit compares.
CREATE TABLE paid_revenue (since timestamptz NOT NULL);
INSERT INTO paid_revenue (since) VALUES (clock_timestamp());
