-- What a paid request leaves below the smallest refund, or below the token's smallest unit, is kept to the payer's credit:
-- one ledger account for each wallet and asset, payer_credit:ADDRESS:ASSET. It is in no customer account's balance, so
-- these accounts have no owner.
ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_kind_check;
ALTER TABLE ledger_accounts
  ADD CONSTRAINT ledger_accounts_kind_check CHECK (kind IN ('coin', 'grant', 'payer_credit', 'system'));

-- Units, known once a payment is closed: what it took of the credit, what it added to it, and the credit that it left.
ALTER TABLE payments
  ADD COLUMN credit_used_units bigint NOT NULL DEFAULT 0,
  ADD COLUMN credit_kept_units bigint NOT NULL DEFAULT 0,
  ADD COLUMN credit_left_units bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT payments_credit_check
    CHECK (credit_used_units >= 0 AND credit_kept_units >= 0 AND credit_left_units >= credit_kept_units);

-- A refund takes the credit along, so it may be more than its own payment.
ALTER TABLE payments DROP CONSTRAINT payments_check2;
ALTER TABLE payments
  ADD CONSTRAINT payments_back_check CHECK (back_units BETWEEN 0 AND units + credit_used_units AND back_amount >= 0);
