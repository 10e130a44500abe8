import { byWindow, oneOf as oneWindow, windowList } from '../../money/windows.ts'
import {
  decimal,
  flag,
  integer,
  is,
  joined,
  list,
  oneOf,
  orNull,
  pageOf,
  ref,
  said,
  shape,
  text,
  time,
} from './shape.ts'

const BALANCE = shape({ coin: decimal, credits: decimal })

const CAP = shape({ cap: orNull(decimal), used: decimal, left: orNull(decimal), 'resets_at?': time })

const KEY_STATE = said('active, paused, expired or revoked', text)

const CAPS = shape(byWindow(() => orNull(decimal)))

/** The permissions of keys and agents. */
export const GRANTS = {
  paused: flag,
  caps: said(`The most USD that may be spent in ${windowList('and', oneWindow)}`, CAPS),
  budget: said('The most USD that may be spent in its life', orNull(decimal)),
  models: said('The models that it may use; empty for all', list(text)),
  tools: said('The tools that it may use; empty for all', list(text)),
  no_logs: flag,
  private_tier: flag,
  capture_content: said('Traces may have the content of its requests and answers', flag),
  allow_retention: orNull(flag),
  can_transfer: flag,
  requests_per_minute: orNull(integer),
  tokens_per_minute: orNull(integer),
  parallel: said('Requests in flight', orNull(integer)),
  tags: said('Tags of its requests that do not say otherwise', { type: 'object', additionalProperties: text }),
}

const KEY_HEAD = { id: text, last4: text, state: KEY_STATE, name: text }
const KEY_TAIL = { expires_at: orNull(time), platform: flag, created_at: time }
const KEY = shape({ object: is('api_key'), ...KEY_HEAD, ...GRANTS, ...KEY_TAIL })
const SUB_KEY = shape({
  object: is('platform_key'),
  ...KEY_HEAD,
  ...GRANTS,
  expires_at: orNull(time),
  created_at: time,
  user: text,
})
const SECRET = said('The key itself, shown this once; null in the answer to a repeated request', orNull(text))

const USAGE = {
  requests: integer,
  input_tokens: integer,
  cached_input_tokens: integer,
  output_tokens: integer,
  cost: ref('UsdAmount'),
}

const LINK = shape({
  object: is('link'),
  id: text,
  status: oneOf(['open', 'claimed', 'cancelled', 'expired']),
  amount: ref('Amount'),
  note: text,
  expires_at: time,
  created_at: time,
  ended_at: orNull(time),
})

/** Sign-in, accounts, keys, links and referrals. */
export const ACCOUNT_SHAPES = {
  Nonce: shape({ object: is('nonce'), nonce: text, 'chain_id?': integer, expires_at: time }),
  Session: shape({
    object: is('session'),
    id: text,
    token: said('The session, as it is sent in Authorization', text),
    address: text,
    account_id: orNull(text),
    created_at: time,
    expires_at: time,
  }),
  Deleted: shape({ object: text, id: text, deleted: flag }),
  Wallet: shape({ object: is('wallet'), address: text, 'account_id?': text, 'linked_at?': time, 'deleted?': flag }),
  WalletList: pageOf(ref('Wallet')),
  Account: shape({
    object: is('account'),
    id: text,
    name: text,
    balance: BALANCE,
    available: said('The balance without what is held', orNull(BALANCE)),
    credits: list(
      shape({ object: is('credit_grant'), id: text, amount: decimal, source: text, expires_at: orNull(time) }),
    ),
    allow_retention: orNull(flag),
    transfer_cap_day: decimal,
    requests_per_minute: orNull(integer),
    tokens_per_minute: orNull(integer),
    parallel: said('Requests in flight', orNull(integer)),
    transferred_today: decimal,
    created_at: time,
  }),
  ActivityList: pageOf(
    shape({
      object: is('activity'),
      id: text,
      type: text,
      actor: shape({ type: text, id: orNull(text) }),
      target: text,
      details: { type: 'object', additionalProperties: true },
      client_address: orNull(text),
      request_id: orNull(text),
      created_at: time,
    }),
  ),
  Usage: joined(
    pageOf(
      shape({
        object: is('usage'),
        'day?': text,
        'hour?': text,
        'month?': text,
        'tag?': said(
          'Null for all beyond the bound of a period',
          orNull({ type: 'object', additionalProperties: text }),
        ),
        'model?': text,
        'key_id?': orNull(text),
        'platform_key_id?': said('Null for keys of no platform', orNull(text)),
        'agent_id?': orNull(text),
        'outcome?': said('The error code of a receipt; where it has none, its status', text),
        'user?': said('Null for all beyond the bound of a period', orNull(text)),
        ...USAGE,
      }),
      { from: text, to: text, group_by: list(text), total: shape(USAGE) },
    ),
    shape({ next: said('The value of after for the next page', orNull(text)) }),
  ),
  Statement: shape({
    object: is('list'),
    data: list(
      shape({
        object: is('movement'),
        time,
        type: said('charge, payment, credit_grant, credit_expiry, or another kind of transfer', text),
        reference: orNull(text),
        key_id: orNull(text),
        model: orNull(text),
        endpoint: orNull(text),
        status: orNull(text),
        input_tokens: orNull(integer),
        output_tokens: orNull(integer),
        quantity: orNull(integer),
        unit: orNull(text),
        amount_usd: said('Outgoing amounts are negative', text),
        coin_usd: text,
        credits_usd: text,
        coin: text,
        lock_series: orNull(text),
        lock_tokens: orNull(text),
        lock_usd: orNull(text),
        user: orNull(text),
        tags: { type: 'object', additionalProperties: text },
      }),
    ),
  }),
  ReceiptList: pageOf(ref('Receipt')),
  ApiKey: KEY,
  NewApiKey: joined(KEY, shape({ api_key: SECRET })),
  ApiKeyList: pageOf(ref('ApiKey')),
  KeyLimits: shape({
    object: is('key_limits'),
    ...KEY_HEAD,
    ...GRANTS,
    caps: shape(byWindow(() => CAP)),
    budget: CAP,
    ...KEY_TAIL,
  }),
  SubKey: SUB_KEY,
  NewSubKey: joined(SUB_KEY, shape({ api_key: SECRET })),
  SubKeyList: pageOf(ref('SubKey')),
  Link: LINK,
  NewLink: joined(LINK, shape({ token: said('Shown this once', orNull(text)) })),
  LinkList: pageOf(ref('Link')),
  Referral: shape({ object: is('referral'), id: text, attached_at: time }),
  ReferralList: joined(
    pageOf(shape({ object: is('referral'), id: text, earned: ref('Amount'), attached_at: time })),
    shape({
      code: text,
      share_percent: { type: 'number' },
      referred: integer,
      earned: ref('Amount'),
      referred_at: orNull(time),
    }),
  ),
}
