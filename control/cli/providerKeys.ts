import { quotaJson } from '../../contract/catalog/quota.ts'
import { type ListedKey, listedKeys } from '../../contract/providers/providerKeys.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { ROUTE_VIEWS_KEY } from '../../contract/wire/redisKeys.ts'
import { currentRecord } from '../catalog/pricing/sheetStore.ts'
import type { Arguments } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { quotaText } from './quotaText.ts'
import { table } from './table.ts'
import { formatTime } from './values.ts'

/** How many processes of the proxies keep requests from a key, for one fault. */
interface Out {
  readonly fault: string
  readonly processes: number
  /** When the first of them tries it again; 0 where that is not known. */
  readonly untilMs: number
}

/** Tokens of prompts that the running processes have sent with a key, and those that its provider had in its cache. */
interface Tokens {
  readonly prompt: number
  readonly cached: number
}

/** The last reports of the proxies' processes on the keys, by their names. */
interface Seen {
  readonly out: ReadonlyMap<string, readonly Out[]>
  readonly tokens: ReadonlyMap<string, Tokens>
  readonly processes: number
}

const NO_TOKENS: Tokens = { prompt: 0, cached: 0 }

/** Lists the keys of the catalog's providers with what the proxies see of them. */
export async function listKeys(args: Arguments, context: CliContext): Promise<undefined> {
  const asked = args.named.get('PROVIDER')
  const encoded = await currentRecord(await context.pool())
  const all = encoded === undefined ? [] : sluice.CatalogRecord.decode(encoded).providers
  const providers = all.filter(({ id }) => asked === undefined || id === asked)
  if (asked !== undefined && providers.length === 0) throw new CommandError(`the catalog has no provider ${asked}`)
  const seen = await readSeen(context)
  const { out, tokens, processes } = seen
  const rows = providers.flatMap((provider) => {
    const keys = listedKeys(provider)
    const weights = keys.reduce((sum, { weight }) => sum + weight, 0)
    return keys.map((key) => ({ name: `${provider.id}/${key.id}`, share: key.weight / weights, key }))
  })
  const data = rows.map(({ name, share, key }) => keyJson({ name, share, key }, seen))
  const cells = rows.map(({ name, share, key }) => [
    name,
    placeOf(key),
    `${Math.round(share * 100)} %`,
    key.models.join(', ') || 'all',
    quotaText(key, 'in flight'),
    cacheText(tokens.get(name) ?? NO_TOKENS),
    stateOf(out.get(name) ?? [], processes),
  ])
  const text =
    cells.length === 0 ? 'no keys' : table(['KEY', 'FROM', 'SHARE', 'MODELS', 'QUOTA', 'CACHED', 'STATE'], cells)
  context.print({ processes, data }, text)
}

function keyJson({ name, share, key }: { name: string; share: number; key: ListedKey }, { out, tokens }: Seen) {
  const { env, file, weight, models } = key
  const sent = tokens.get(name) ?? NO_TOKENS
  return {
    key: name,
    env: env || null,
    file: file || null,
    weight,
    share: Math.round(share * 10_000) / 10_000,
    models: models.length === 0 ? null : models,
    ...quotaJson(key),
    prompt_tokens: sent.prompt,
    cached_tokens: sent.cached,
    cache_hit_rate: sent.prompt === 0 ? null : Math.round((sent.cached / sent.prompt) * 10_000) / 10_000,
    out: (out.get(name) ?? []).map(({ fault, processes, untilMs }) => ({
      fault,
      processes,
      until: untilMs === 0 ? null : formatTime(untilMs),
    })),
  }
}

function placeOf({ env, file }: ListedKey): string {
  return file === '' ? `variable ${env}` : file
}

function stateOf(out: readonly Out[], processes: number): string {
  if (processes === 0) return 'no proxy runs'
  if (out.length === 0) return 'well'
  const parts = out.map((one) => {
    const until = one.untilMs === 0 ? '' : ` until ${formatTime(one.untilMs)}`
    return `${one.fault}: out in ${one.processes} of ${processes}${until}`
  })
  return parts.join('; ')
}

/** The part of the prompts that was in the provider's cache. */
function cacheText({ prompt, cached }: Tokens): string {
  return prompt === 0 ? '-' : `${Math.round((cached / prompt) * 100)} %`
}

async function readSeen(context: CliContext): Promise<Seen> {
  const redis = await context.redis()
  const views = Object.values(await redis.hgetallBuffer(ROUTE_VIEWS_KEY)).map((bytes) => sluice.RouteView.decode(bytes))
  // Views of processes that died may be left.
  const newest = Math.max(0, ...views.map(({ atMs }) => atMs))
  const current = views.filter(({ atMs }) => newest - atMs <= context.limits.heartbeatTimeoutMs)
  return { out: outOf(current), tokens: tokensOf(current), processes: current.length }
}

function tokensOf(views: readonly sluice.RouteView[]): Map<string, Tokens> {
  const sums = new Map<string, Tokens>()
  for (const bare of views.flatMap((view) => view.keyTokens)) {
    const { key, prompt, cached } = sluice.KeyTokens.create(bare)
    const known = sums.get(key) ?? NO_TOKENS
    sums.set(key, { prompt: known.prompt + prompt, cached: known.cached + cached })
  }
  return sums
}

function outOf(views: readonly sluice.RouteView[]): Map<string, Out[]> {
  const out = new Map<string, Out[]>()
  for (const { keysOut } of views) {
    const seen = new Set<string>()
    for (const bare of keysOut) {
      const { key, fault, untilMs } = sluice.KeyOut.create(bare)
      // A key that is limited on several routes is out once.
      if (seen.has(`${key} ${fault}`)) continue
      seen.add(`${key} ${fault}`)
      const known = out.get(key) ?? []
      const same = known.find((one) => one.fault === fault)
      const more = {
        fault,
        processes: (same?.processes ?? 0) + 1,
        untilMs: Math.min(same?.untilMs ?? untilMs, untilMs),
      }
      out.set(key, [...known.filter((one) => one !== same), more])
    }
  }
  return out
}
