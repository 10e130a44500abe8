import { type ClientTool, clientTool } from '../shared/clientTools.ts'
import type { AnswerContext } from '../shared/codec.ts'
import { type Message, NO_ARGUMENTS } from '../shared/message.ts'
import { packReasoning } from '../shared/ownReasoning.ts'
import type { PackBound } from '../shared/packed.ts'
import { SerialWriter } from '../shared/serialWriter.ts'
import { callThought, packThought, shownOf } from '../shared/thought.ts'
import type { ClientSide } from '../shared/translate.ts'
import { CallItem } from './callItem.ts'
import { ItemIds, MessageItem, type OutputItem, type Part, ReasoningItem } from './responseItems.ts'
import { incompleteReason, type ResponseHead, responseStart, responseUsageJson } from './responseObject.ts'
import { ResponseWriter } from './responseWriter.ts'
import { packSummary, SummaryItem, summaryIn } from './summary.ts'
import { SummaryWriter } from './summaryWriter.ts'

/** Answers in the format of responses. */
export const responsesClient: ClientSide = {
  writer: (context) => {
    const { request, limits } = context
    if (request.compacts === true) return new SummaryWriter(new ResponseWriter(headOf(context)), limits)
    const thoughts = request.returnsThoughts === true ? limits : null
    return new SerialWriter(new ResponseWriter(headOf(context), request.tools, thoughts))
  },
  head: responseHead,
  usage: responseUsageJson,
}

function headOf({ requestId, startedAtMs, model, request }: AnswerContext): ResponseHead {
  return { id: requestId, createdAtMs: startedAtMs, model: model.id, echo: request.echo ?? '' }
}

function responseHead(message: Message, context: AnswerContext): string {
  const { request, limits } = context
  const ids = new ItemIds(context.requestId)
  const items =
    request.compacts === true
      ? [new SummaryItem(ids, 0, packSummary(summaryIn(message), limits))]
      : itemsOf(message, ids, request.tools, request.returnsThoughts === true ? limits : null)
  const reason = incompleteReason(message.finish)
  const output = items.map((item, index) =>
    item.json(reason !== null && index === items.length - 1 ? 'incomplete' : 'completed'),
  )
  const status = reason === null ? 'completed' : 'incomplete'
  return responseStart(headOf(context), { status, output, error: null, reason })
}

interface SaidThought {
  readonly text: string
  readonly packed: string
}

/** The reasoning of a message in one piece, or block by block for a client that sends the blocks back. */
function reasoningOf({ reasoning, thoughts = [] }: Message, bound: PackBound | null): SaidThought[] {
  if (bound !== null && thoughts.length > 0) {
    return thoughts.map((thought) => {
      const text = shownOf(thought)
      return { text, packed: packThought(thought, bound) || packReasoning(text, bound) }
    })
  }
  return reasoning === '' ? [] : [{ text: reasoning, packed: bound === null ? '' : packReasoning(reasoning, bound) }]
}

/**
 * The items in the order in which models write them: thoughts, words, calls.
 * @param bound of what the client gets to send back; null for a client that does not
 */
function itemsOf(
  message: Message,
  ids: ItemIds,
  tools: readonly ClientTool[] | undefined,
  bound: PackBound | null,
): OutputItem[] {
  const items: OutputItem[] = []
  const addThought = ({ text, packed }: SaidThought): void => {
    const item = new ReasoningItem(ids, items.length)
    item.text = text
    item.packed = packed
    items.push(item)
  }
  reasoningOf(message, bound).forEach(addThought)
  const parts: Part[] = [
    { type: 'output_text', text: message.text, annotations: [...(message.citations ?? [])] },
    { type: 'refusal', text: message.refusal, annotations: [] },
  ]
  const said = new MessageItem(ids, items.length)
  said.parts.push(...parts.filter(({ text }) => text !== ''))
  if (said.parts.length > 0) items.push(said)
  for (const { id, name, arguments: given, extra } of message.toolCalls) {
    const thought = callThought(extra)
    if (bound !== null && thought !== null) addThought({ text: '', packed: packThought(thought, bound) })
    const call = new CallItem(ids, items.length, id, clientTool(tools, name))
    call.arguments = given === '' ? NO_ARGUMENTS : given
    items.push(call)
  }
  return items
}
