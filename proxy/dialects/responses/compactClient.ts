import type { AnswerContext } from '../shared/codec.ts'
import type { Message } from '../shared/message.ts'
import type { ClientSide } from '../shared/translate.ts'
import { responsesClient } from './client.ts'
import { ItemIds } from './responseItems.ts'
import { packSummary, SummaryItem, summaryIn } from './summary.ts'

/** Answers in the format of compacted conversations: the messages that stay, and the summary of the rest. */
export const compactClient: ClientSide = { ...responsesClient, head: compactHead }

function compactHead(message: Message, { requestId, startedAtMs, request, limits }: AnswerContext): string {
  const kept = request.echo ?? ''
  const item = new SummaryItem(new ItemIds(requestId), 0, packSummary(summaryIn(message), limits))
  return (
    `{"id":"${requestId}","object":"response.compaction","created_at":${Math.floor(startedAtMs / 1000)}` +
    `,"output":[${kept === '' ? '' : `${kept},`}${item.json()}]`
  )
}
