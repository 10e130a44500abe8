-- Units: the smallest charge that the quote named, and what the charge lacked to it, which is known once a payment is
-- closed and is booked on its own.
ALTER TABLE payments
  ADD COLUMN min_units bigint NOT NULL DEFAULT 0,
  ADD COLUMN fee_units bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT payments_fee_check CHECK (min_units BETWEEN 0 AND units AND fee_units BETWEEN 0 AND min_units);
