import { isWhole } from '../../../../contract/money/usageReports.ts'
import { refusalOf } from '../../../../contract/wire/refusal.ts'
import { sampleText } from '../../../../workers/textSample.ts'
import type { DialectLimits } from '../../../dialects/limits.ts'
import { codecOf } from '../../../dialects/shared/codec.ts'
import { AnswerJson } from '../../../json/answerJson.ts'
import { findMembers } from '../../../json/findMembers.ts'
import type { JsonLimits } from '../../../json/limits.ts'
import { convertVectors } from '../../modalities/vectors.ts'
import type { TokenLimits } from '../../tokens/limits.ts'
import { readResult } from '../../tools/answer.ts'
import type { AnswerInput, LargeAnswer, LargeRejection, LargeTasks, ReadResult, ToolReading } from '../largeTasks.ts'
import { sharedBuffer, sharedBytes, sharedText } from '../sharedBytes.ts'
import { SURFACES } from './surfaces.ts'

/** Reads a provider's large answer to a chat request, and writes it for the client. */
export function readLargeAnswer(
  { surface, dialect, cuts, context, isCounted }: AnswerInput,
  bytes: Buffer,
  limits: DialectLimits & TokenLimits,
): LargeAnswer | LargeRejection {
  const answer = codecOf(SURFACES[surface], dialect).answer(new AnswerJson(bytes, cuts), { ...context, limits })
  if ('rejected' in answer) {
    const { error, ...rest } = answer.rejected
    return { rejected: { ...rest, error: refusalOf(error) } }
  }
  const { usage, outputBytes } = answer
  const text = !isWhole(usage) || isCounted ? answer.written() : null
  const written = typeof text === 'string' ? sampleText(text, limits.countCharactersMax) : text
  const head = answer.head()
  return { usage, outputBytes, written, head: typeof head === 'string' ? sharedText(head) : sharedBytes(head) }
}

/** Finds the members of a large answer, and of its rest without the values that are cut out. */
export function readLargeMembers(
  { reading, cuts }: LargeTasks['members']['input'],
  bytes: Buffer,
  limits: JsonLimits,
): LargeTasks['members']['output'] {
  const rest = sharedBytes(new AnswerJson(bytes, cuts).rest)
  return { content: findMembers(sharedBuffer(rest), reading, limits), rest }
}

/** Reads the large answer of a tool's upstream; its values were counted while it arrived. */
export function readLargeResult(reading: ToolReading, bytes: Buffer, limits: JsonLimits): ReadResult {
  const read = readResult(new AnswerJson(bytes, []), reading, limits)
  return read.output === null ? read : { ...read, output: sharedBytes(read.output) }
}

/** Writes the vectors of a large answer in another encoding. */
export function readLargeVectors(to: 'float' | 'base64', bytes: Buffer): LargeTasks['vectors']['output'] {
  const vectors = convertVectors(bytes, to)
  return vectors === null ? null : sharedBytes(vectors)
}
