-- By digest, so that a start can tell a file that was changed from one that a later publication by command has replaced.
CREATE TABLE catalog_files (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- SHA-256 of the file that is in force.
  in_force text NOT NULL,
  -- SHA-256 of the file that a control published last when it started or was told to read it again.
  configured text
);
