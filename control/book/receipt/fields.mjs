// The fields of a receipt in the book. scripts/receiptFields.mjs writes generated/receipt.ts from this table at build: the
// types, the columns and their COPY, the reader of settlements, and the text of leaves, also as SQL. A new field is a row
// here, one in messages.proto and a migration; a field of the proto that no row names fails the build.

/**
 * @typedef {object} ReceiptField
 * @property {string} name the member in TypeScript; the column is the same name in snake case
 * @property {'text' | 'boolean' | 'smallint' | 'integer' | 'bigint' | 'bytea'} type of the column
 * @property {string} [proto] the field of Settlement, or of its Usage as `usage.input`
 * @property {'place' | 'ending'} [from] absent: `proto` is stored as it came. place: the position in the usage log.
 *   ending: settlement/entry.ts computes it
 * @property {string} [names] the names of an enum in settlementNames.ts
 * @property {true} [isRequired] never ''
 * @property {true} [isEmptyForOrphans] '' where the process that had the request was lost
 * @property {number} [leaf] the first layout of a leaf that has it. Lines of a leaf have the order of this table, so rows of
 *   a layout are never moved, and a new row that has a leaf belongs to a new layout, after those of all others
 * @property {number} [max] the most characters of a text, where that is not the usual bound
 * @property {true} [isShown] reads of receipts return it although no leaf has it
 */

/** The layouts of leaves that exist; receipts stay provable in the layout in which they were booked. */
export const LEAF_LAYOUTS = [1, 2, 3, 4]

/** @type {readonly ReceiptField[]} */
export const RECEIPT_FIELDS = [
  { name: 'log', type: 'smallint', from: 'place', isShown: true },
  { name: 'position', type: 'bigint', from: 'place', isShown: true },

  { name: 'requestId', type: 'text', proto: 'request_id', isRequired: true, leaf: 1 },
  { name: 'status', type: 'text', proto: 'status', names: 'STATUS', leaf: 1 },
  { name: 'model', type: 'text', proto: 'model', leaf: 1 },
  { name: 'endpoint', type: 'text', proto: 'endpoint', leaf: 1 },
  { name: 'sheetVersion', type: 'integer', proto: 'sheet_version', leaf: 1 },
  // The amount taken, as Redis or the proxy reports it, rather than the settlement's.
  { name: 'chargeUnits', type: 'bigint', proto: 'charge_units', from: 'ending', leaf: 1 },
  { name: 'inputTokens', type: 'bigint', proto: 'usage.input', leaf: 1 },
  { name: 'cachedInputTokens', type: 'bigint', proto: 'usage.cached_input', leaf: 1 },
  { name: 'cacheWrite5mTokens', type: 'bigint', proto: 'usage.cache_write_5m', leaf: 1 },
  { name: 'cacheWrite1hTokens', type: 'bigint', proto: 'usage.cache_write_1h', leaf: 1 },
  { name: 'outputTokens', type: 'bigint', proto: 'usage.output', leaf: 1 },
  { name: 'reasoningTokens', type: 'bigint', proto: 'usage.reasoning', leaf: 1 },
  { name: 'quantity', type: 'bigint', proto: 'usage.quantity', leaf: 1 },
  { name: 'unit', type: 'text', proto: 'usage.unit', leaf: 1 },
  { name: 'usageSource', type: 'text', proto: 'usage_source', names: 'USAGE_SOURCE', leaf: 1 },
  { name: 'heldAtMs', type: 'bigint', from: 'ending', leaf: 1 },

  { name: 'rate', type: 'text', proto: 'rate', names: 'RATE', isEmptyForOrphans: true, leaf: 2 },
  { name: 'tier', type: 'text', proto: 'tier', names: 'TIER', isEmptyForOrphans: true, leaf: 2 },
  { name: 'size', type: 'text', proto: 'size', leaf: 2 },
  { name: 'holdUnits', type: 'bigint', proto: 'hold_units', leaf: 2 },
  { name: 'clamped', type: 'boolean', proto: 'clamped', leaf: 2 },
  { name: 'streamed', type: 'boolean', proto: 'streamed', leaf: 2 },
  { name: 'durationMs', type: 'integer', proto: 'duration_ms', leaf: 2 },
  { name: 'errorCode', type: 'text', proto: 'error_code', leaf: 2 },

  // The series of the tokens that were burnt, and units of them at the locked price.
  { name: 'lockSeries', type: 'text', proto: 'lock_series', from: 'ending', leaf: 3 },
  { name: 'lockUnits', type: 'bigint', proto: 'lock_units', from: 'ending', leaf: 3 },

  // Commits to user and tags without telling them to those who may read the receipt of others; '' for none.
  { name: 'tagsHash', type: 'text', from: 'ending', leaf: 4 },

  { name: 'endUser', type: 'text', proto: 'end_user', max: 4_096, isShown: true },
  { name: 'tags', type: 'text', proto: 'tags', max: 16_384, isShown: true },
  { name: 'tagsSalt', type: 'text', proto: 'tags_salt', isShown: true },
  { name: 'lockMicros', type: 'bigint', proto: 'lock_micros', from: 'ending', isShown: true },
  { name: 'accountId', type: 'text', proto: 'account_id', isRequired: true },
  { name: 'keyId', type: 'text', proto: 'key_id', isRequired: true, isShown: true },
  { name: 'provider', type: 'text', proto: 'provider' },
  // A voided request freed its hold and was charged nothing.
  { name: 'voided', type: 'boolean', from: 'ending' },
  // Where the charge was taken from: grantId=units,...,coin=units:nanos.
  { name: 'split', type: 'text', from: 'ending' },
  { name: 'startedAtMs', type: 'bigint', proto: 'started_at_ms' },
  { name: 'firstByteMs', type: 'integer', proto: 'first_byte_ms', isShown: true },
  { name: 'tries', type: 'integer', proto: 'tries', isShown: true },
  { name: 'attestation', type: 'text', proto: 'attestation', isShown: true },
  { name: 'leafLayout', type: 'smallint', from: 'ending', isShown: true },
  // The RFC 6962 leaf hash of the text of the leaf.
  { name: 'leafHash', type: 'bytea', from: 'ending' },
]
