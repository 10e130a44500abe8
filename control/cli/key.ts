import { quotaJson } from '../../contract/catalog/quota.ts'
import { decoded, tagsIn, tagsOf } from '../../contract/money/tags.ts'
import { formatUsd } from '../../contract/money/units.ts'
import { byWindow, WINDOWS } from '../../contract/money/windows.ts'
import { accountOf, UnknownAccountError } from '../identity/accounts/accounts.ts'
import { changeKey, endKey, makeKey } from '../identity/keys/keyChanges.ts'
import { keyLimits } from '../identity/keys/keyLimits.ts'
import type { ApiKey } from '../identity/keys/keyRow.ts'
import { keyOf, listKeys, UnknownKeyError } from '../identity/keys/keys.ts'
import { stateOf } from '../identity/keys/settingsJson.ts'
import { OPERATOR } from '../runtime/activity/activity.ts'
import { type Client, withTransaction } from '../runtime/db/pool.ts'
import { announce } from './announce.ts'
import { type Arguments, argument, type CommandGroup, isSet, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { SETTING_FLAGS, settingsOf } from './keySettings.ts'
import { facts, table } from './table.ts'
import { formatTime } from './values.ts'

const capText = (units: number | null): string | null => (units === null ? null : formatUsd(units))

function keyJson(key: ApiKey) {
  return {
    key_id: key.id,
    account_id: key.accountId,
    name: key.name,
    last4: key.last4,
    state: stateOf(key),
    paused: key.paused,
    caps: byWindow((window) => capText(key.caps[window])),
    budget: capText(key.caps.life),
    models: key.models,
    tools: key.tools,
    no_logs: key.noLogs,
    private_tier: key.privateTier,
    capture_content: key.captureContent,
    allow_retention: key.allowRetention,
    can_transfer: key.canTransfer,
    platform: key.isPlatform,
    tags: tagsOf(key.tags),
    ...quotaJson(key),
    expires_at: formatTime(key.expiresAtMs) || null,
    revoked_at: formatTime(key.revokedAtMs) || null,
    created_at: formatTime(key.createdAtMs),
  }
}

function keyText(key: ApiKey): string {
  const { caps, budget } = keyJson(key)
  const modes = [
    key.noLogs && 'no-logs',
    key.privateTier && 'private tier',
    key.captureContent && 'content in traces',
    key.allowRetention !== null && (key.allowRetention ? 'retention allowed' : 'retention refused'),
    !key.canTransfer && 'no transfers',
    key.isPlatform && 'platform',
  ]
  return facts([
    ['key', key.id],
    ['account', key.accountId],
    ['name', key.name],
    ['secret', `sk_...${key.last4}`],
    ['state', stateOf(key)],
    ['caps (USD)', WINDOWS.map((window) => `${window} ${caps[window] ?? 'none'}`).join(', ')],
    ['budget', budget ?? 'none'],
    ['models', key.models.join(', ') || 'any'],
    ['tools', key.tools.join(', ') || 'any'],
    ['tags', tagsIn(key.tags).map(decoded).join(', ') || 'none'],
    ['modes', modes.filter(Boolean).join(', ') || 'none'],
    ['rate', key.requestsPerMinute > 0 ? `${key.requestsPerMinute} a minute` : 'the usual limit'],
    ['tokens', key.tokensPerMinute > 0 ? `${key.tokensPerMinute} a minute` : 'no limit'],
    ['in flight', key.parallel > 0 ? `${key.parallel}` : 'no limit'],
    ['expires', formatTime(key.expiresAtMs) || 'never'],
  ])
}

async function create(args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  const accountId = argument(args, 'ACCOUNT')
  if ((await accountOf(pool, accountId)) === undefined) throw new UnknownAccountError(accountId)
  const settings = await settingsOf(args, pool)
  const { key, secret } = await withTransaction(pool, (client) => makeKey(client, OPERATOR, accountId, settings))
  const text = `${keyText(key)}\nAPI key:  ${secret}\nIt is shown only once; it is stored as a hash only.`
  context.print({ ...keyJson(key), api_key: secret }, text)
}

async function change(
  args: Arguments,
  context: CliContext,
  edit: (client: Client, keyId: string) => Promise<ApiKey>,
): Promise<undefined> {
  const key = await withTransaction(await context.pool(), (client) => edit(client, argument(args, 'ID')))
  await announce(context)
  context.print(keyJson(key), keyText(key))
}

async function show(args: Arguments, context: CliContext): Promise<undefined> {
  const key = await keyOf(await context.pool(), argument(args, 'ID'))
  if (key === undefined) throw new UnknownKeyError(argument(args, 'ID'))
  context.print(keyJson(key), keyText(key))
}

async function showLimits(args: Arguments, context: CliContext): Promise<undefined> {
  const key = await keyOf(await context.pool(), argument(args, 'ID'))
  if (key === undefined) throw new UnknownKeyError(argument(args, 'ID'))
  const found = await keyLimits(await context.redis(), key)
  const rows = Object.entries({ ...found.caps, budget: found.budget }).map(([name, { cap, used, left }]) => {
    return [name, cap ?? 'none', used, left ?? 'all']
  })
  context.print(found, table(['', 'CAP (USD)', 'USED', 'LEFT'], rows))
}

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  const accountId = argument(args, 'ACCOUNT')
  if ((await accountOf(pool, accountId)) === undefined) throw new UnknownAccountError(accountId)
  const keys = await listKeys(pool, accountId)
  const rows = keys.map((key) => [key.id, key.name, `...${key.last4}`, stateOf(key), formatTime(key.createdAtMs)])
  context.print({ data: keys.map(keyJson) }, table(['KEY', 'NAME', 'SECRET', 'STATE', 'CREATED'], rows))
}

export const KEY: CommandGroup = {
  name: 'key',
  summary: 'create, limit, pause and revoke API keys',
  commands: [
    {
      synopsis: 'create <ACCOUNT>',
      summary: 'Creates an API key, which is shown only once.',
      flags: SETTING_FLAGS,
      run: create,
    },
    { synopsis: 'list <ACCOUNT>', summary: 'Lists the keys of an account.', run: list },
    { synopsis: 'show <ID>', summary: 'Shows the settings of a key.', run: show },
    {
      synopsis: 'limits <ID>',
      summary: 'Shows how much of its caps and budget a key has spent, and the rest.',
      run: showLimits,
    },
    {
      synopsis: 'update <ID>',
      summary: 'Changes the given settings; everything else stays as it is.',
      flags: SETTING_FLAGS,
      run: async (args, context) => {
        const names = Object.keys(SETTING_FLAGS)
        if (!names.some((name) => isSet(args, name))) {
          throw new UsageError(`say what to change: ${names.map((name) => `--${name}`).join(', ')}`)
        }
        const pool = await context.pool()
        const settings = await settingsOf(args, pool)
        return change(args, context, (client, keyId) => changeKey(client, OPERATOR, keyId, settings))
      },
    },
    {
      synopsis: 'pause <ID>',
      summary: 'Pauses a key: every proxy refuses it within a second, until it is resumed.',
      run: (args, context) =>
        change(args, context, (client, keyId) => changeKey(client, OPERATOR, keyId, { paused: true })),
    },
    {
      synopsis: 'resume <ID>',
      summary: 'Resumes a paused key.',
      run: (args, context) =>
        change(args, context, (client, keyId) => changeKey(client, OPERATOR, keyId, { paused: false })),
    },
    {
      synopsis: 'revoke <ID>',
      summary: 'Revokes a key permanently.',
      run: (args, context) => change(args, context, (client, keyId) => endKey(client, OPERATOR, keyId)),
    },
  ],
}
