import { quotaJson } from '../../contract/catalog/quota.ts'
import { coinDecimal } from '../../contract/money/coin.ts'
import { formatUsd, MAX_UNITS } from '../../contract/money/units.ts'
import type { AccountBalance } from '../book/ledger/balanceOf.ts'
import { sumText } from '../catalog/pricing/coinAmounts.ts'
import {
  accountBalance,
  accountOf,
  createAccount,
  creditAccount,
  listAccounts,
  UnknownAccountError,
} from '../identity/accounts/accounts.ts'
import { transferDayOf } from '../identity/accounts/keyTransfers.ts'
import { type AccountChanges, settingsOf as accountSettings, changeAccount } from '../identity/accounts/settings.ts'
import { makeKey } from '../identity/keys/keyChanges.ts'
import { listKeys } from '../identity/keys/keys.ts'
import { linkWallet } from '../identity/wallets/wallets.ts'
import type { Limits } from '../limits.ts'
import { OPERATOR, recordActivity } from '../runtime/activity/activity.ts'
import { type Pool, withTransaction } from '../runtime/db/pool.ts'
import { ACCOUNT_BOOKS } from './accountBooks.ts'
import { applyToAdmission } from './admission.ts'
import { announce } from './announce.ts'
import { type Arguments, argument, type CommandGroup, flag, isSet, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { countOf, retentionOf, SETTING_FLAGS, settingsOf } from './keySettings.ts'
import { quotaText } from './quotaText.ts'
import { facts, table } from './table.ts'
import { addressOf, amountOf, formatTime, timeOf } from './values.ts'

const PAGE = 500

// Here `--expires` is the end of the credits; the end of a key is set with `key update`.
const { name: _name, expires: _expires, ...KEY_FLAGS } = SETTING_FLAGS

const CREDIT_FLAGS = {
  credits: { value: 'USD', help: 'free credits, such as 10' },
  coin: { value: 'AMOUNT', help: 'coin, such as 5' },
  source: { value: 'TEXT', help: 'the giver of the credits, as shown to the customer (operator)' },
  expires: { value: 'TIME', help: 'when the credits expire, such as 2027-01-31T12:00:00Z (in a year)' },
}

function creditOf(args: Arguments) {
  const [credits, coin, source, expires] = ['credits', 'coin', 'source', 'expires'].map((name) => flag(args, name))
  return {
    ...(credits !== undefined && { creditUnits: amountOf('credits', credits) }),
    ...(coin !== undefined && { coinNanos: amountOf('coin', coin) }),
    ...(source !== undefined && { source }),
    ...(expires !== undefined && { expiresAtMs: timeOf('expires', expires) }),
  }
}

/** A balance as people read it: coin, and US dollars of credits. */
function balanceText(balance: AccountBalance): { coin: string; credits: string } {
  return { coin: coinDecimal(balance.coinNanos), credits: sumText(balance.grants.map((grant) => grant.units)) }
}

/** The database rejects a balance that would not be an exact integer any more. */
function refuseTooLarge(error: unknown): never {
  const isTooLarge = error instanceof RangeError || (error as { constraint?: string }).constraint === 'balance_exact'
  if (!isTooLarge) throw error
  throw new CommandError(`the balance would be too large; an account holds at most ${formatUsd(MAX_UNITS)} coin or USD`)
}

async function create(args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  const name = flag(args, 'name') ?? ''
  const made = await withTransaction(pool, async (client) => {
    const accountId = await createAccount(client, context.limits, { name, ...creditOf(args) })
    const { expiresAtMs: _, ...settings } = await settingsOf(args, client)
    const wallet = flag(args, 'wallet')
    if (wallet !== undefined) await linkWallet(client, OPERATOR, accountId, addressOf(wallet), context.limits)
    const keySettings = { ...settings, name: name || 'first key' }
    return { accountId, ...(await makeKey(client, OPERATOR, accountId, keySettings)) }
  }).catch(refuseTooLarge)
  await applyToAdmission(context, [made.accountId])
  const { coin, credits } = balanceText(await accountBalance(pool, made.accountId))
  context.print(
    { account_id: made.accountId, key_id: made.key.id, api_key: made.secret, balance: { coin, credits } },
    `${facts([
      ['account', made.accountId],
      ['coin', coin],
      ['credits', `${credits} USD`],
      ['key', made.key.id],
      ['API key', made.secret],
    ])}\nThe API key is shown only once; it is stored as a hash only.`,
  )
}

/** An account as JSON for programs and as text for people. */
async function describe(pool: Pool, limits: Limits, accountId: string): Promise<{ json: object; text: string }> {
  const account = await accountOf(pool, accountId)
  if (account === undefined) throw new UnknownAccountError(accountId)
  const balance = await accountBalance(pool, accountId)
  const { coin, credits } = balanceText(balance)
  const settings = await accountSettings(pool, accountId)
  const transfers = await transferDayOf(pool, accountId, Date.now(), limits)
  const keys = (await listKeys(pool, accountId)).filter((key) => key.revokedAtMs === null)
  const grants = balance.grants.map((grant) => ({
    id: grant.grantId,
    amount: formatUsd(grant.units),
    source: grant.source,
    expires_at: formatTime(grant.expiresAtMs),
  }))
  const json = {
    account_id: account.id,
    name: account.name,
    created_at: formatTime(account.createdAtMs),
    balance: { coin, credits },
    credits: grants,
    allow_retention: settings.allowRetention,
    transfer_cap_day: formatUsd(transfers.capUnits),
    ...quotaJson(settings),
    keys: keys.map((key) => key.id),
  }
  const list = grants.map((grant) => [grant.id, grant.amount, grant.source, grant.expires_at])
  const text = facts([
    ['account', account.id],
    ['name', account.name],
    ['created', json.created_at],
    ['coin', coin],
    ['credits', `${credits} USD`],
    ['retention', settings.allowRetention === null ? 'not decided' : settings.allowRetention ? 'allowed' : 'refused'],
    ['transfers', `keys may pay ${formatUsd(transfers.capUnits)} USD a day to other accounts`],
    ['limits', quotaText(settings)],
    ['keys', keys.map((key) => key.id).join(', ') || 'none'],
  ])
  const grantsTable = `\n\n${table(['CREDITS', 'USD', 'SOURCE', 'EXPIRES'], list)}`
  return { json, text: text + (list.length > 0 ? grantsTable : '') }
}

async function show(args: Arguments, context: CliContext): Promise<undefined> {
  const { json, text } = await describe(await context.pool(), context.limits, argument(args, 'ID'))
  context.print(json, text)
}

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  const accounts = await listAccounts(pool, PAGE + 1, flag(args, 'after') ?? '')
  const page = accounts.slice(0, PAGE)
  const data = page.map(({ id, name, createdAtMs }) => ({ account_id: id, name, created_at: formatTime(createdAtMs) }))
  const rows = data.map((account) => [account.account_id, account.name, account.created_at])
  context.print({ data, has_more: accounts.length > PAGE }, table(['ACCOUNT', 'NAME', 'CREATED'], rows))
  if (accounts.length > PAGE) context.warn(`there are more: --after ${page.at(-1)?.id}`)
}

async function credit(args: Arguments, context: CliContext): Promise<undefined> {
  if (!isSet(args, 'credits') && !isSet(args, 'coin'))
    throw new UsageError('say how much: --credits USD or --coin AMOUNT')
  const pool = await context.pool()
  const accountId = argument(args, 'ID')
  const ref = flag(args, 'ref')
  const credited = await withTransaction(pool, async (client) => {
    const asked = creditOf(args)
    if (!asked.creditUnits && !asked.coinNanos) throw new UsageError('the amount must be more than 0')
    return creditAccount(client, accountId, { ...asked, ...(ref !== undefined && { ref }) }, context.limits)
  }).catch(refuseTooLarge)
  await applyToAdmission(context, [accountId])
  const { json, text } = await describe(pool, context.limits, accountId)
  const note = credited ? '' : `${ref} was credited to this account before; nothing is changed\n\n`
  context.print({ ...json, credited }, note + text)
}

const UPDATE_FLAGS = {
  name: SETTING_FLAGS.name,
  'allow-retention': { help: 'allow providers and tools that retain data, for every key' },
  'refuse-retention': { help: 'refuse them, unless a request or its key allows them' },
  'inherit-retention': { help: 'undo either: not decided, which refuses them' },
  'transfer-cap-day': { value: 'USD', help: 'most that API keys may pay to other accounts in a day' },
  rpm: { value: 'N', help: 'requests per minute of all of its keys; 0 removes the limit' },
  tpm: { value: 'N', help: 'tokens per minute of all of its keys; 0 removes the limit' },
  parallel: { value: 'N', help: 'requests in flight of all of its keys; 0 removes the limit' },
}

/** @throws UsageError where no change is asked for */
function changesOf(args: Arguments): AccountChanges {
  const transferCap = flag(args, 'transfer-cap-day')
  const changes = {
    name: flag(args, 'name'),
    allowRetention: retentionOf(args),
    transferCapUnits: transferCap === undefined ? undefined : amountOf('transfer-cap-day', transferCap),
    requestsPerMinute: countOf(args, 'rpm', 'requests per minute'),
    tokensPerMinute: countOf(args, 'tpm', 'tokens per minute'),
    parallel: countOf(args, 'parallel', 'requests in flight'),
  }
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  if (given.length > 0) return Object.fromEntries(given)
  const names = Object.keys(UPDATE_FLAGS).map((flagName) => `--${flagName}`)
  throw new UsageError(`say what to change: ${names.join(', ')}`)
}

async function update(args: Arguments, context: CliContext): Promise<undefined> {
  const changes = changesOf(args)
  const pool = await context.pool()
  const accountId = argument(args, 'ID')
  if ((await accountOf(pool, accountId)) === undefined) throw new UnknownAccountError(accountId)
  await withTransaction(pool, async (client) => {
    const details = {
      name: changes.name,
      allow_retention: changes.allowRetention,
      transfer_cap_day: flag(args, 'transfer-cap-day'),
      requests_per_minute: changes.requestsPerMinute,
      tokens_per_minute: changes.tokensPerMinute,
      parallel: changes.parallel,
    }
    await recordActivity(client, OPERATOR, [{ accountId, type: 'account.updated', target: accountId, details }])
    await changeAccount(client, accountId, changes)
  })
  const { name: _, transferCapUnits: __, ...ofKeys } = changes
  if (Object.keys(ofKeys).length > 0) await announce(context)
  const { json, text } = await describe(pool, context.limits, accountId)
  context.print(json, text)
}

export const ACCOUNT: CommandGroup = {
  name: 'account',
  summary: 'open accounts, show and credit their balances',
  commands: [
    {
      synopsis: 'create',
      summary: 'Opens an account with its first API key. The key is shown only once.',
      flags: {
        name: SETTING_FLAGS.name,
        wallet: { value: 'ADDRESS', help: 'the wallet that signs in to the account' },
        ...CREDIT_FLAGS,
        ...KEY_FLAGS,
      },
      run: create,
    },
    { synopsis: 'show <ID>', summary: 'Shows the balance of an account in the ledger.', run: show },
    {
      synopsis: 'update <ID>',
      summary: 'Changes the given settings; everything else stays as it is.',
      flags: UPDATE_FLAGS,
      run: update,
    },
    ...ACCOUNT_BOOKS,
    {
      synopsis: 'list',
      summary: 'Lists accounts, oldest first.',
      flags: { after: { value: 'ID', help: 'continue after this account' } },
      run: list,
    },
    {
      synopsis: 'credit <ID>',
      summary: 'Adds credits, coin or both to an account.',
      flags: {
        ...CREDIT_FLAGS,
        ref: { value: 'TEXT', help: 'name of the payment; a payment is credited to an account once' },
      },
      run: credit,
    },
  ],
}
