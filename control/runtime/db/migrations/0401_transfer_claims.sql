-- A transaction may make several transfers, each for a purpose of its own.
ALTER TABLE chain_attempts DROP CONSTRAINT chain_attempts_pkey;
ALTER TABLE chain_attempts ADD CONSTRAINT chain_attempts_pkey PRIMARY KEY (hash, transaction_id);

-- Transfers that are equal in everything cannot be told apart, also because a log may get another index in another block: they
-- are counted. `place` is the number of this one among the equal ones of its transaction, `equals` is how many those are.
ALTER TABLE chain_transfers ADD COLUMN place integer, ADD COLUMN equals integer;
ALTER TABLE chain_transfers DISABLE TRIGGER chain_transfers_append_only;
UPDATE chain_transfers t SET place = n.place, equals = n.equals
FROM (SELECT hash, log_index, row_number() OVER (PARTITION BY hash, token, transfer_from, transfer_to, amount ORDER BY log_index) AS place,
    count(*) OVER (PARTITION BY hash, token, transfer_from, transfer_to, amount) AS equals FROM chain_transfers) n
WHERE n.hash = t.hash AND n.log_index = t.log_index;
ALTER TABLE chain_transfers ENABLE TRIGGER chain_transfers_append_only;
ALTER TABLE chain_transfers ALTER COLUMN place SET NOT NULL, ALTER COLUMN equals SET NOT NULL,
  DROP CONSTRAINT chain_transfers_pkey, ADD PRIMARY KEY (hash, token, transfer_from, transfer_to, amount, place),
  ADD CHECK (place BETWEEN 1 AND equals);

-- What the transfers of a transaction of each kind come to that no transaction of the book has claimed.
CREATE VIEW chain_transfers_unclaimed AS
SELECT c.hash, c.token, c.transfer_from, c.transfer_to, c.amount, c.block_number, c.deposits, c.equals - c.claims AS transfers
FROM (
  SELECT t.hash, t.token, t.transfer_from, t.transfer_to, t.amount, max(t.block_number) AS block_number, max(t.equals) AS equals,
    count(*) FILTER (WHERE t.purpose = 'deposit') AS deposits,
    (SELECT count(*) FROM chain_transactions o WHERE o.state = 'mined' AND o.hash = t.hash AND o.token = t.token
       AND o.transfer_from = t.transfer_from AND o.transfer_to = t.transfer_to AND o.amount = t.amount) AS claims
  FROM chain_transfers t GROUP BY t.hash, t.token, t.transfer_from, t.transfer_to, t.amount
) c WHERE c.equals > c.claims;
CREATE INDEX chain_transactions_hash ON chain_transactions (hash) WHERE hash IS NOT NULL;
