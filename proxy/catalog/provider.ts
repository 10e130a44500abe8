import type { DataPolicy } from '../../contract/catalog/catalog.ts'
import { isDialect } from '../../contract/catalog/dialects.ts'
import type { RequestForm } from '../../contract/catalog/requestForm.ts'
import { ownPartsOf } from '../../contract/providers/ownParts.ts'
import { type KeySource, type ListedKey, listedKeys } from '../../contract/providers/providerKeys.ts'
import { type ReachReads, reachOf } from '../../contract/providers/reach.ts'
import { placeOf } from '../../contract/std/fnv1a.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { providerKeyPot } from '../quotas/pot.ts'
import type { Provider, ProviderKey, UnreadKey } from './pricedItem.ts'

/**
 * Decodes a provider with those of its keys that can be read.
 * @returns undefined for a provider of a dialect that only a later version of the gateway knows
 */
export function decodeProvider(record: sluice.ProviderRecord, reads: ReachReads): Provider | undefined {
  const { dialect } = record
  if (!isDialect(dialect)) return undefined
  const url = new URL(record.baseUrl)
  const listed = listedKeys(record)
  const secrets = listed.map((key) => ({ key, secret: reads.secret(key) }))
  const own = ownPartsOf(record, reads.secret)
  const { reach, unread: unreached, isClosed } = reachOf(record, reads)
  const unreadParts = [...own.unread, ...unreached]
  const missing = unreadParts.map(({ part, fault }) => unreadKey({ ...part, id: part.name }, fault))
  const unreadKeys = secrets.filter(({ secret }) => secret.text === '')
  const unread = [...missing, ...unreadKeys.map(({ key, secret }) => unreadKey(key, secret.fault))]
  const bare: Provider = {
    id: record.id,
    origin: url.origin,
    host: url.host,
    basePath: url.pathname.replace(/\/+$/, ''),
    dialect,
    apiKey: '',
    ...(own.headers.length > 0 && { headers: own.headers }),
    ...(own.query !== '' && { query: own.query }),
    ...(reach && { reach }),
    missingKey: own.unread.length > 0 || isClosed ? (missing[0]?.place ?? '') : '',
    dataPolicy: record.dataPolicy as DataPolicy,
    maxTokensField: record.maxTokensField,
    form: formOf(record),
    privateImages: record.privateImages,
    traceContext: record.traceContext,
    eventStreams: record.eventStreams,
    outputFromTotal: record.outputFromTotal,
    report: record.report ? { id: record.report.id ?? '', validUntilMs: record.report.validUntilMs ?? 0 } : null,
    unread,
  }
  if (bare.missingKey !== '') return bare
  const keyed = secrets
    .filter(({ secret }) => secret.text !== '')
    .map(({ key, secret }) => ({ ...bare, apiKey: secret.text, key: keyOf(record.id, key) }))
  const [first] = keyed
  if (first === undefined) return { ...bare, missingKey: unread[0]?.place ?? '' }
  return keyed.length === 1 && unread.length === 0 && first.key.models.length === 0 ? first : { ...first, keyed }
}

/** The provider with one of its keys; with its first key where it does not have that one any more. */
export function providerWithKey(provider: Provider, keyId: string): Provider {
  return provider.keyed?.find(({ key }) => key?.id === keyId) ?? provider
}

function keyOf(provider: string, { id, env, file, weight, models, ...quota }: ListedKey): ProviderKey {
  const name = `${provider}/${id}`
  const pot = providerKeyPot(name, quota)
  return { id, name, source: { env, file }, weight, models, place: placeOf(name), ...(pot && { pot }) }
}

function unreadKey({ id, env, file }: KeySource & { readonly id: string }, fault: string): UnreadKey {
  return { id, place: file === '' ? env : file, isFile: file !== '', fault }
}

function formOf(record: sluice.ProviderRecord): RequestForm | null {
  const { omitMembers: omit, extraMembers: extra, thinkingMember: thinking } = record
  const { systemFirst, developerAsSystem, callIdCharacters, stopSequencesMax, refusesStreamOptions } = record
  const counts = { callIdCharacters, stopSequencesMax }
  const isUsual =
    omit.length === 0 && extra.length === 0 && thinking === '' && callIdCharacters + stopSequencesMax === 0
  if (isUsual && !systemFirst && !developerAsSystem && !refusesStreamOptions) return null
  return { omit, extra, thinking, systemFirst, developerAsSystem, refusesStreamOptions, ...counts }
}
