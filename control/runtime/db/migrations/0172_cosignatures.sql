-- What witnesses have added to checkpoints: that they have seen them, and that each contains those before. Of each witness
-- the latest statement on a checkpoint.
CREATE TABLE cosignatures (
  -- Of the checkpoint.
  size bigint NOT NULL REFERENCES checkpoints (size),
  -- Verifier key of the witness.
  witness text COLLATE "C" NOT NULL,
  -- When the witness says that it did, in seconds since 1970.
  at_seconds bigint NOT NULL,
  -- The line of the signature, with its end.
  line text NOT NULL,
  PRIMARY KEY (size, witness)
);
