-- Refunds that an operator has to look at are counted for every scrape of the metrics.
CREATE INDEX refunds_stuck ON refunds (id) WHERE state = 'stuck';
