import { parseJsonObject } from '../../contract/std/jsonObject.ts'
import type { RequestKind } from './kinds.ts'
import type { LoadLimits } from './limits.ts'
import { records } from './records.ts'

/** Endpoints whose requests a load test can ask a chat for. */
const CHATS: ReadonlySet<unknown> = new Set(['chat', 'messages', 'responses', 'completions'])
const PROMPT = ['input_tokens', 'cached_input_tokens', 'cache_write_5m_tokens', 'cache_write_1h_tokens']
/** Requests whose tokens differ by less than a quarter of an octave are of one kind. */
const STEPS_PER_OCTAVE = 4

type Row = Readonly<Record<string, unknown>>

/** Requests of one kind, and the sums of their tokens. */
interface Group {
  readonly model: string
  readonly isStreamed: boolean
  requests: number
  promptTokens: number
  outputTokens: number
}

/**
 * The distribution of the requests in an export of receipts, as kinds with weights: models, streams, sizes of prompts and
 * of answers, never contents.
 * @param pieces of the export's text, as CSV with its headings or as JSON lines
 * @param model stands for the models of the receipts; undefined keeps them
 * @throws Error for a text that is no such export, or that has no answered chat
 */
export async function readReplay(
  pieces: AsyncIterable<string>,
  model: string | undefined,
  limits: LoadLimits,
): Promise<RequestKind[]> {
  const groups = new Map<string, Group>()
  for await (const row of rowsOf(pieces, limits)) {
    const { endpoint, status, voided } = row
    if (typeof row['model'] !== 'string' || endpoint === undefined) throw new Error('it is no export of receipts')
    if (!CHATS.has(endpoint) || status !== 'ok' || isTrue(voided)) continue
    add(groups, row, model ?? row['model'], limits)
  }
  if (groups.size === 0) throw new Error('it has no answered request of a chat')
  const heaviest = [...groups.values()].sort((a, b) => b.requests - a.requests).slice(0, limits.loadKindsMax)
  return heaviest.map((group) => kindOf(group, limits))
}

function add(groups: Map<string, Group>, row: Row, model: string, limits: LoadLimits): void {
  const prompt = PROMPT.reduce((sum, name) => sum + count(row[name]), 0)
  const output = count(row['output_tokens'])
  const isStreamed = isTrue(row['streamed'])
  const name = `${model} ${isStreamed} ${stepOf(prompt)} ${stepOf(output)}`
  let group = groups.get(name)
  if (group === undefined) {
    if (groups.size >= limits.loadReplayGroupsMax) return
    group = { model, isStreamed, requests: 0, promptTokens: 0, outputTokens: 0 }
    groups.set(name, group)
  }
  group.requests++
  group.promptTokens += prompt
  group.outputTokens += output
}

function kindOf({ model, isStreamed, requests, promptTokens, outputTokens }: Group, limits: LoadLimits): RequestKind {
  const mean = (sum: number): number => Math.min(limits.loadPromptTokensMax, Math.max(1, Math.round(sum / requests)))
  return {
    model,
    isStreamed,
    promptTokens: mean(promptTokens),
    maxTokens: mean(outputTokens),
    weight: Math.min(requests, limits.loadWeightMax),
  }
}

function stepOf(tokens: number): number {
  return Math.round(Math.log2(tokens + 1) * STEPS_PER_OCTAVE)
}

async function* rowsOf(pieces: AsyncIterable<string>, limits: LoadLimits): AsyncGenerator<Row> {
  let receipts = 0
  for await (const row of parsedRows(pieces, limits.loadReplayLineChars)) {
    if (++receipts > limits.loadReplayReceiptsMax) throw new Error(`it has more than ${receipts - 1} receipts`)
    yield row
  }
}

async function* parsedRows(pieces: AsyncIterable<string>, lineMax: number): AsyncGenerator<Row> {
  let headings: string[] | undefined
  for await (const cells of records(pieces, lineMax)) {
    const [first = ''] = cells
    if (first.startsWith('{')) yield parseJsonObject(first) ?? {}
    else if (headings === undefined) headings = cells
    else yield Object.fromEntries(headings.map((name, i) => [name, cells[i]]))
  }
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === 't'
}

function count(value: unknown): number {
  const number = Number(value)
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}
