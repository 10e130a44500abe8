-- Payments whose gas nobody has paid, by wallet.
CREATE INDEX payments_uncovered ON payments (payer, id) WHERE state = 'failed' OR back_now;
