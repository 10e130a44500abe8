import type { ReceiptStatus } from '../../money/receiptStatus.ts'
import { BATCH_STATUSES } from '../batch.ts'
import { decimal, flag, integer, is, list, oneOf, orNull, ref, said, seconds, shape, text, time } from './shape.ts'

const RECEIPT_STATUSES: readonly ReceiptStatus[] = ['ok', 'partial', 'failed', 'cut', 'orphaned']

const AMOUNT = {
  units: said('Integer of 1e-9 USD', { ...text, pattern: '^-?\\d+$' }),
  usd: said('The same in USD', decimal),
  coin: said('The same in coin, at its price when it was charged', decimal),
}

const RATES = {
  'batch_input?': decimal,
  'batch_output?': decimal,
  'batch_cached_input?': decimal,
  'batch_cache_write_5m?': decimal,
  'batch_cache_write_1h?': decimal,
}

const USAGE = shape({
  prompt_tokens: integer,
  completion_tokens: integer,
  total_tokens: integer,
  cached_tokens: integer,
  cache_write_tokens: integer,
  cache_write_1h_tokens: integer,
  reasoning_tokens: integer,
  'quantity?': said('Of what is not priced by the token', { type: 'number' }),
  'unit?': text,
  'size?': said('Of images whose price goes by it', text),
})

const PAID = shape({
  ...AMOUNT,
  asset: said('coin or stablecoin', text),
  amount: said('In atomic units of the token', text),
  token: text,
  network: text,
  payer: text,
  transaction: text,
  'agent?': text,
  minimum_charge: ref('Amount'),
  settlement_fee: ref('Amount'),
  refund: orNull(shape({ ...AMOUNT, amount: text, transaction: orNull(text) })),
  credit: orNull(shape({ used: ref('Amount'), kept: ref('Amount'), left: ref('Amount') })),
})

const LOG = shape({
  number: said('Of the usage log', integer),
  position: integer,
  'leaf?': said('SHA-256 of a zero byte and the entry, in hex', text),
  'tree_size?': integer,
  'root?': text,
  'proof?': said('The audit path of RFC 6962, in hex', list(text)),
  'entry?': text,
  'head?': orNull(shape({ position: integer, entry: text, tree_size: integer, proof: list(text) })),
  'checkpoint?': orNull(text),
})

/** Amounts, receipts, and jobs that end in one. */
export const MONEY_SHAPES = {
  Amount: said('An amount of money', shape(AMOUNT)),
  UsdAmount: said('A sum over requests, whose coin may have had several prices', shape({ units: text, usd: decimal })),
  Receipt: said(
    'The cost of a request, its prices, and its place in the usage log',
    shape({
      object: is('receipt'),
      request_id: text,
      status: oneOf(RECEIPT_STATUSES),
      model: text,
      endpoint: text,
      price_sheet: said('The version whose prices were used', text),
      rate: said('standard or batch', orNull(text)),
      tier: said('standard or private', orNull(text)),
      cost: said('The charge', ref('Amount')),
      hold: said('The hold, which is the most that could be charged', ref('Amount')),
      usage: USAGE,
      usage_source: oneOf(['reported', 'estimated', 'none']),
      clamped: said('Whether the provider reported more than the hold', flag),
      streamed: flag,
      created: time,
      duration_ms: said('From the arrival to the end', integer),
      first_token_ms: said(
        'From the arrival to the first output of a stream; null for an answer in one piece, and where no output came',
        orNull(integer),
      ),
      tries: said(
        'Attempts at providers; null where none was asked, and on receipts from before they were counted',
        orNull(integer),
      ),
      error: said('A code of the error table', orNull(text)),
      'attestation?': said('The report of attested hardware that the private tier was served by', text),
      'lock?': said('Tokens of a compute lock that were burnt', shape({ series: text, tokens: decimal, units: text })),
      'user?': said('The user that the request named', text),
      'tags?': said('Its tags, with those of its key', { type: 'object', additionalProperties: text }),
      'tags_salt?': text,
      'tags_hash?': said('SHA-256 of salt, user and tags, which the usage log has', text),
      'paid?': said('Of a request that was paid for by itself', PAID),
      'log?': LOG,
    }),
  ),
  ExplainedRequest: said(
    'How a request went: the checks that it went through, or its receipt',
    shape({
      object: is('request'),
      id: text,
      status: said('refused, or the status of its receipt', oneOf(['refused', ...RECEIPT_STATUSES])),
      refused_at: orNull(time),
      account_id: orNull(text),
      key_id: orNull(text),
      route: said('The path that was called', orNull(text)),
      endpoint: orNull(text),
      model: orNull(text),
      error: orNull(shape({ code: text, status: integer, message: text, retry_after_seconds: orNull(integer) })),
      refused_by: said('The first check that refused it', orNull(text)),
      hold: said(
        'The worst case that it asked for, and the least that had to be held',
        orNull(shape({ usd: decimal, least_usd: decimal, tokens: orNull(integer), price_sheet: text })),
      ),
      checks: said(
        'In their order; figures are those of the moment after the refusal',
        list(
          shape({
            check: text,
            result: oneOf(['passed', 'refused', 'not_reached']),
            subject: orNull(text),
            unit: orNull(text),
            limit: orNull(decimal),
            used: orNull(decimal),
            available: orNull(decimal),
            needed: orNull(decimal),
          }),
        ),
      ),
      receipt: orNull(ref('Receipt')),
    }),
  ),
  BatchJob: said(
    'A request that is served later at batch rates',
    shape({
      object: is('batch.job'),
      id: text,
      status: oneOf(BATCH_STATUSES),
      rate: is('batch'),
      model: text,
      request_id: text,
      created_at: seconds,
      expires_at: seconds,
      completed_at: orNull(seconds),
      hold: ref('Amount'),
      price: shape({
        unit: is('million_tokens'),
        sheet: text,
        ...RATES,
        'long_context?': shape({ threshold: integer, ...RATES }),
      }),
      poll: said('Where its state is read', text),
      result: said('Where its result is read', text),
      error: orNull(shape({ code: text, message: text })),
      'webhook?': shape({ url: text, secret: said('By which webhooks are signed', text) }),
      receipt: said('Once the job is over', orNull(ref('Receipt'))),
    }),
  ),
  Video: said(
    'A job that makes a clip',
    shape({
      id: text,
      object: is('video'),
      status: oneOf(['queued', 'in_progress', 'completed', 'failed']),
      progress: integer,
      created_at: seconds,
      completed_at: orNull(seconds),
      expires_at: orNull(seconds),
      model: text,
      prompt: orNull(text),
      seconds: text,
      size: orNull(text),
      remixed_from_video_id: orNull(text),
      error: orNull(shape({ code: orNull(text), message: text })),
      request_id: text,
      poll: text,
      content: said('Where the clip is read', text),
      hold: ref('Amount'),
      receipt: orNull(ref('Receipt')),
    }),
  ),
}
