import { answerEnd } from '../../../contract/api/completion.ts'
import type { TokenUsage } from '../../../contract/money/charge.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { ChatFields, ChatRequest } from './chatRequest.ts'
import type { AnswerContext, AskModel, ChatCodec, Printed, ProviderRequestBuilder, WholeEvents } from './codec.ts'
import type { Message, MessageReader, MessageWriter } from './message.ts'
import { TranslatedStream } from './translatedStream.ts'

/** How a provider dialect is asked, and how its answers read. */
export interface ProviderSide {
  print(request: ChatRequest, model: AskModel): Printed
  ask(request: ChatFields, requestId: string, model: AskModel, printed: Printed): ProviderRequestBuilder
  reader(context: AnswerContext): MessageReader
  message(body: AnswerJson, context: AnswerContext): Message | Rejected
  readonly wholeEvents?: WholeEvents
}

/** How a client format is answered. */
export interface ClientSide {
  writer(context: AnswerContext): MessageWriter
  /** A message in one piece, up to its usage. */
  head(message: Message, context: AnswerContext): string
  /** The usage as JSON. */
  usage(billed: TokenUsage): string
}

/** Carries a client format over a provider dialect by way of the message that both mean. */
export function translate(provider: ProviderSide, client: ClientSide): ChatCodec {
  return {
    print: provider.print,
    ask: provider.ask,
    ...(provider.wholeEvents !== undefined && { wholeEvents: provider.wholeEvents }),
    stream: (context) =>
      new TranslatedStream(
        provider.reader(parsedEvents(context)),
        client.writer(context),
        context.limits.answerParsedBytesMax,
      ),
    answer: (body, context) => {
      const message = provider.message(body, context)
      if ('rejected' in message) return message
      const { usage, outputBytes } = message
      return {
        usage,
        outputBytes,
        written: () => writtenText(message),
        head: () => client.head(message, context),
      }
    },
    end: (billed, receipt) => answerEnd(client.usage(billed), receipt),
  }
}

/** Each event is parsed. */
function parsedEvents(context: AnswerContext): AnswerContext {
  const { eventBytesMax, eventParsedBytesMax } = context.limits
  const limits = { ...context.limits, eventBytesMax: Math.min(eventBytesMax, eventParsedBytesMax) }
  return { ...context, limits }
}

function writtenText({ reasoning, text, refusal, toolCalls }: Message): string {
  const calls = toolCalls.flatMap((call) => [call.name, call.arguments])
  return [reasoning, text, refusal, ...calls].filter((part) => part !== '').join('\n')
}
