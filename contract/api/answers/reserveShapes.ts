import {
  day,
  decimal,
  flag,
  integer,
  is,
  joined,
  list,
  oneOf,
  openShape,
  orNull,
  pageOf,
  said,
  shape,
  text,
  time,
} from './shape.ts'

const STATED = shape({
  network: orNull(text),
  block: orNull(integer),
  block_hash: orNull(text),
  token: orNull(shape({ address: text, name: text, decimals: integer })),
  treasury: orNull(text),
  vault: orNull(text),
  coin_usd: decimal,
  held: list(
    shape({
      asset: text,
      token: text,
      decimals: integer,
      holder: text,
      address: text,
      token_amount: text,
      later_amount: text,
      amount: decimal,
      token_usd: decimal,
      usd: decimal,
    }),
  ),
  held_usd: decimal,
  owed: list(shape({ class: text, asset: text, accounts: integer, amount: decimal, usd: decimal })),
  owed_usd: decimal,
  ratio: said('Holdings divided by debts', orNull(decimal)),
  covered: orNull(flag),
})

const READING = joined(STATED, shape({ read_at: time }))
const NODE = shape({ hash: text, sum_nanos: text })

/** The reserve, and the liabilities that it covers. */
export const RESERVE_SHAPES = {
  Reserve: joined(shape({ object: is('reserve') }), READING, shape({ withdrawals: orNull(text) })),
  ReserveDayList: pageOf(shape({ object: is('reserve_day'), day, first: READING, last: READING })),
  ReserveAttestation: said(
    'A signed statement of what is held and owed; `statement` is the text that is signed',
    openShape({
      object: is('reserve_attestation'),
      layout: text,
      number: text,
      reason: text,
      attested_at: time,
      reserve: STATED,
      liabilities: openShape({ leaves: integer, height: integer, root: text, sum_nanos: text, sum: decimal }),
      statement: text,
      sha256: text,
      message: text,
      signatures: list(shape({ algorithm: oneOf(['ed25519', 'eip191']), signer: text, signature: text })),
    }),
  ),
  Liability: said(
    'The leaf of the account in the tree of the last attestation, and its way up to the root',
    shape({
      object: is('liability'),
      attestation: shape({ number: text, sha256: text }),
      account: text,
      salt: text,
      amount_nanos: text,
      amount: decimal,
      position: integer,
      leaf: text,
      path: list(NODE),
      leaves: integer,
      height: integer,
      root: text,
      sum_nanos: text,
    }),
  ),
}
