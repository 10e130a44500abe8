import type { DataPolicy } from '../../../contract/catalog/catalog.ts'
import type { Dialect } from '../../../contract/catalog/dialects.ts'
import { COIN_USD_UNITS_MAX, COIN_USD_UNITS_MIN } from '../../../contract/money/coin.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import type { OwnPart } from '../../../contract/providers/ownParts.ts'
import type { ListedKey } from '../../../contract/providers/providerKeys.ts'
import type { StatedReach } from '../../../contract/providers/reach.ts'
import { compileSchema, readSchema } from '../../../contract/schemas/schemaFaults.ts'
import type { AttestationPolicy } from '../../evidence/attestationPolicy.ts'
import { statedUnits } from '../../runtime/files/statedUnits.ts'
import { type Path, readYamlFile, YamlFile } from '../../runtime/files/yamlFile.ts'
import { plainAddress } from './address.ts'
import { readAttestation } from './attestationReader.ts'
import type { CatalogContent, PriceListContent, ProviderContent } from './catalogContent.ts'
import { fillPresets } from './fillPresets.ts'
import { readKeys } from './keyReader.ts'
import { type CatalogModel, readModel } from './modelReader.ts'
import { readOwn } from './ownPartReader.ts'
import { readReach, type StatedProxy } from './reachReader.ts'
import { type CatalogTool, readTool } from './toolReader.ts'

const WHOLE = 'the catalog'

export interface CatalogProvider {
  readonly id: string
  readonly baseUrl: string
  readonly dialect: Dialect
  /** None for a provider that takes no key. */
  readonly keys: readonly ListedKey[]
  /** Headers and parameters of the query that it wants with every request. */
  readonly headers: readonly OwnPart[]
  readonly query: readonly OwnPart[]
  /** The proxy through which it is reached; absent leaves that to the environment. */
  readonly proxy?: StatedProxy
  /** Paths of PEM files; '' for none. */
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  readonly dataPolicy: DataPolicy
  readonly maxTokensField: string
  /** It refuses the member of a streamed request that asks for usage. */
  readonly refusesStreamOptions: boolean
  /** Its output is what the total of a report has beside the prompt. */
  readonly outputFromTotal: boolean
  /** The answers beside chat that it can send as events. */
  readonly eventStreams: readonly string[]
  /** '' passes on reasoning_effort alone. */
  readonly thinkingMember: string
  /** It takes system messages at the beginning alone, as one. */
  readonly systemFirst: boolean
  /** It does not know the role `developer`. */
  readonly developerAsSystem: boolean
  /** Ids of tool calls are of so many letters and digits; 0 for ids of any form. */
  readonly callIdCharacters: number
  /** The most stop sequences of a request; 0 for the usual number. */
  readonly stopSequencesMax: number
  readonly extraMembers: readonly string[]
  readonly omitMembers: readonly string[]
  /** It serves the files and batches of the OpenAI dialect. */
  readonly batch: boolean
  /** It may be sent addresses of images that are not https on the public internet. */
  readonly privateImages: boolean
  /** It gets the context of the traces of requests. */
  readonly traceContext: boolean
  /** The attestation that it needs before it gets requests of the private tier; absent when it never serves that tier. */
  readonly attestation?: AttestationPolicy
}

/** A list of prices to observe. */
export interface CatalogPriceList {
  readonly provider: string
  /** An address, or a path relative to the catalog file. */
  readonly place: { readonly url: string } | { readonly file: string }
  /** The prefix of the provider's own names of models in the list; '' for none. */
  readonly prefix: string
  /** Whether the operator has named the address for this, so that it may be shown. */
  readonly isNamed: boolean
  /** The provider itself, which may have the list. */
  readonly server: StatedReach
}

/** The places of a catalog's fields, so that an error about one can name its line. */
export interface CatalogSource {
  readonly file: string
  /** SHA-256 of the text in hex. */
  readonly digest: string
  /** The line of a field; of its parent when the field is missing. */
  readonly lineOf: (path: Path) => number
}

/** A catalog file that is valid in every respect. */
export interface Catalog {
  readonly source: CatalogSource
  readonly coinUsdUnits: number
  /** Whether the promise of its sheet is renewed while the sheet is in force. */
  readonly renewsPromise: boolean
  readonly providers: readonly CatalogProvider[]
  readonly models: readonly CatalogModel[]
  readonly tools: readonly CatalogTool[]
  readonly priceLists: readonly CatalogPriceList[]
}

const check = compileSchema(readSchema('catalog'))

/**
 * Reads and checks a catalog file.
 * @throws FileError with a line per problem, each naming the file, the line and the reason
 */
export async function readCatalogFile(path: string): Promise<Catalog> {
  return catalogOf(await readYamlFile(path, WHOLE, 'SLUICE_CATALOG names the catalog file'))
}

/**
 * Checks the text of a catalog.
 * @param name the name of the file in errors
 * @throws FileError as `readCatalogFile`
 */
export function parseCatalog(name: string, text: string): Catalog {
  return catalogOf(new YamlFile(name, text, WHOLE))
}

/**
 * The content already fits the schema; rules that a schema cannot express, such as references between entries, are checked
 * here.
 */
function catalogOf(file: YamlFile): Catalog {
  const content = file.content(check, fillPresets) as CatalogContent
  const coinUsdUnits = statedUnits(content.coin.usd)
  if (coinUsdUnits < COIN_USD_UNITS_MIN || coinUsdUnits > COIN_USD_UNITS_MAX) {
    const [least, most] = [COIN_USD_UNITS_MIN, COIN_USD_UNITS_MAX].map(formatUsd)
    file.problem(['coin', 'usd'], `must be from ${least} to ${most}`)
  }
  const dialects = new Map(content.providers.map(({ id, dialect }) => [id, dialect]))
  const modalities = new Map(content.models.map(({ id, modality }) => [id, modality]))
  const tools = content.tools ?? []
  for (const [list, entries] of [
    ['providers', content.providers],
    ['models', content.models],
    ['tools', tools],
  ] as const) {
    refuseRepeated(file, list, entries)
  }
  const providers = content.providers.map((provider, index) => readProvider(file, ['providers', index], provider))
  const catalog: Catalog = {
    source: { file: file.name, digest: file.digest, lineOf: (path) => file.lineOf(path) },
    coinUsdUnits,
    renewsPromise: content.rate_lock?.renew ?? true,
    providers,
    models: content.models.map((model, index) =>
      readModel({ file, path: ['models', index], dialects, modalities }, model),
    ),
    tools: tools.map((tool, index) => readTool(file, ['tools', index], tool)),
    priceLists: readPriceLists(file, content, providers),
  }
  file.finish()
  return catalog
}

function refuseRepeated(file: YamlFile, list: string, entries: ReadonlyArray<{ readonly id: string }>): void {
  const seen = new Map<string, number>()
  for (const [index, { id }] of entries.entries()) {
    const first = seen.get(id)
    if (first === undefined) seen.set(id, index)
    else file.problem([list, index], `repeats the id "${id}" of ${list}[${first}]`)
  }
}

function readPriceLists(
  file: YamlFile,
  { price_lists: lists = [] }: CatalogContent,
  providers: readonly CatalogProvider[],
): CatalogPriceList[] {
  const byId = new Map(providers.map((provider) => [provider.id, provider]))
  const seen = new Map<string, number>()
  return lists.map((list, index) => {
    const { provider, prefix = '' } = list
    const server = byId.get(provider)
    if (server === undefined)
      file.problem(['price_lists', index, 'provider'], `names an unknown provider "${provider}"`)
    const place = placeOfList(list, server?.baseUrl ?? 'http://unknown')
    const name = JSON.stringify([provider, place, prefix])
    const first = seen.get(name)
    if (first === undefined) seen.set(name, index)
    else file.problem(['price_lists', index], `repeats price_lists[${first}]`)
    return { provider, place, prefix, isNamed: list.url !== undefined, server: server ?? {} }
  })
}

function placeOfList({ url, file }: PriceListContent, baseUrl: string): CatalogPriceList['place'] {
  return file === undefined ? { url: plainAddress(url ?? `${baseUrl}/models`) } : { file }
}

function readProvider(file: YamlFile, path: Path, content: ProviderContent): CatalogProvider {
  const { attestation } = content
  return {
    id: content.id,
    baseUrl: plainAddress(content.base_url),
    dialect: content.dialect,
    keys: readKeys(file, path, content),
    ...readOwn(file, path, content),
    ...readReach(file, path, content),
    dataPolicy: content.data_policy,
    maxTokensField: content.max_tokens_field ?? '',
    refusesStreamOptions: !content.stream_usage,
    outputFromTotal: content.output_from === 'total',
    eventStreams: content.event_streams,
    thinkingMember: content.thinking_member ?? '',
    systemFirst: content.system_messages === 'first',
    developerAsSystem: content.system_messages === 'system',
    callIdCharacters: content.call_id_characters ?? 0,
    stopSequencesMax: content.stop_sequences_max ?? 0,
    extraMembers: content.extra_members,
    omitMembers: content.omit_members,
    batch: content.batch,
    privateImages: content.private_images,
    traceContext: content.trace_context,
    ...(attestation && { attestation: readAttestation(file, [...path, 'attestation'], attestation) }),
  }
}
