-- A transaction whose outcome the chain does not show although another one may have used its nonce: an operator decides.
ALTER TABLE chain_transactions DROP CONSTRAINT chain_transactions_state_check;
ALTER TABLE chain_transactions ADD CONSTRAINT chain_transactions_state_check
  CHECK (state IN ('pending', 'mined', 'reverted', 'displaced', 'stuck'));
CREATE INDEX chain_transactions_stuck ON chain_transactions (sender) WHERE state = 'stuck';

-- No block before this one has the transaction.
ALTER TABLE chain_transactions ADD COLUMN since_block bigint NOT NULL DEFAULT 0 CHECK (since_block >= 0);

-- An operator may allow more attempts than the limit; none are made beyond the allowed number.
ALTER TABLE withdrawals ADD COLUMN attempts_max integer CHECK (attempts_max > 0);
ALTER TABLE refunds ADD COLUMN attempts_max integer CHECK (attempts_max > 0);
ALTER TABLE revenue_payouts ADD COLUMN attempts_max integer CHECK (attempts_max > 0);
