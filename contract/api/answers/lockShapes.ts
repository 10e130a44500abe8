import { decimal, integer, is, list, mapOf, oneOf, orNull, pageOf, ref, said, shape, text, time } from './shape.ts'

const TOKENS = said('Whole tokens with six digits', decimal)
const PRICE = said('Coin per whole token', decimal)
const LEVELS = list(shape({ price: PRICE, tokens: TOKENS }))

const STATE = oneOf(['open', 'unavailable', 'broken', 'ended', 'closed'])

const LOCK_WITHDRAWAL = shape({
  object: is('lock_withdrawal'),
  id: text,
  status: oneOf(['pending', 'sent', 'returned', 'expired']),
  series: text,
  tokens: TOKENS,
  wallet: text,
  contract: said('The ERC-1155 contract', text),
  token_id: said('Of the series, in decimal', text),
  token_amount: said('In units of the contract: 1,000,000 are one whole token', text),
  transaction: orNull(text),
  created_at: time,
})

/** Answers of the endpoints of compute locks. */
export const LOCK_SHAPES = {
  LockSeries: shape({
    object: is('lock_series'),
    id: text,
    model: text,
    month: text,
    ends_at: time,
    state: STATE,
    'unavailable?': said('Why requests cannot use it', text),
    provider: text,
    locked_price: said('Of one whole token', shape({ units: text, usd: decimal })),
    price: said('By class of tokens, in USD per million tokens', mapOf(decimal)),
    supply: TOKENS,
    taker_fee_ppm: integer,
    'book?': said('With a credential, of an open series', shape({ bids: LEVELS, asks: LEVELS })),
  }),
  Locks: shape({
    object: is('locks'),
    rules: shape({
      token: text,
      lot: TOKENS,
      limit_order_usd_min: said('The least that a limit order is worth at its price, in USD', decimal),
      tick: PRICE,
      priority: text,
      self_trade: text,
      market_order: text,
      month_end: text,
      quote_seconds: integer,
      orders_open_max: integer,
      series_per_account_max: integer,
      fills_per_order_max: integer,
      withdrawal_tokens_min: said('The fewest tokens of a withdrawal to a wallet', TOKENS),
      withdrawal_ends_before_seconds: said('How long before the end of a series its withdrawals end', integer),
    }),
    data: list(ref('LockSeries')),
  }),
  LockQuote: shape({
    object: is('lock_quote'),
    id: text,
    series: text,
    side: is('buy'),
    tokens: TOKENS,
    fillable: said('Whole tokens that one market order of the account could buy now', decimal),
    depth: said('The first prices that the order would be filled at', LEVELS),
    average_price: PRICE,
    cost: ref('Amount'),
    fee: ref('Amount'),
    total: ref('Amount'),
    valid_until: time,
  }),
  LockOrder: shape({
    object: is('lock_order'),
    id: text,
    series: text,
    side: oneOf(['buy', 'sell']),
    type: oneOf(['market', 'limit']),
    price: orNull(PRICE),
    tokens: TOKENS,
    filled: TOKENS,
    status: oneOf(['open', 'filled', 'cancelled', 'expired']),
    cost: ref('Amount'),
    fee: ref('Amount'),
    in_escrow: shape({ coin: decimal, tokens: TOKENS }),
    created_at: time,
    ended_at: orNull(time),
  }),
  LockWithdrawal: LOCK_WITHDRAWAL,
  LockWithdrawalList: pageOf(ref('LockWithdrawal')),
  OwnLocks: shape({
    object: is('own_locks'),
    holdings: list(
      shape({ series: text, model: text, month: text, expires_at: time, state: STATE, tokens: TOKENS, units: text }),
    ),
    orders: pageOf(ref('LockOrder')),
    uses: list(shape({ request_id: text, series: text, tokens: TOKENS, units: text, at: time })),
  }),
}
