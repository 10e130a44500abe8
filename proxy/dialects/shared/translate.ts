import type { TokenUsage } from '../../../contract/money/charge.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import type { ChatFields, ChatRequest } from './chatRequest.ts'
import type { AnswerContext, AskModel, ChatCodec, Printed, ProviderRequestBuilder } from './codec.ts'
import type { Message, MessageReader, MessageWriter } from './message.ts'
import { TranslatedStream } from './translatedStream.ts'

/** How a provider dialect is asked, and how its answers read. */
export interface ProviderSide {
  print(request: ChatRequest, model: AskModel): Printed
  ask(request: ChatFields, requestId: string, model: AskModel, printed: Printed): ProviderRequestBuilder
  reader(context: AnswerContext): MessageReader
  message(body: AnswerJson, context: AnswerContext): Message | Rejected
}

/** How a client format is answered. */
export interface ClientSide {
  writer(context: AnswerContext): MessageWriter
  /** @param receipt as JSON text, or '' while the ledger has not accepted it */
  text(message: Message, context: AnswerContext, billed: TokenUsage, receipt: string): string
}

/** Carries a client format over a provider dialect by way of the message that both mean. */
export function translate(provider: ProviderSide, client: ClientSide): ChatCodec {
  return {
    print: provider.print,
    ask: provider.ask,
    stream: (context) =>
      new TranslatedStream(provider.reader(context), client.writer(context), context.limits.responseBodyBytesMax),
    answer: (body, context) => {
      const message = provider.message(body, context)
      if ('rejected' in message) return message
      const { usage, outputBytes } = message
      return {
        usage,
        outputBytes,
        written: () => writtenText(message),
        text: (billed, receipt) => client.text(message, context, billed, receipt),
      }
    },
  }
}

function writtenText({ reasoning, text, refusal, toolCalls }: Message): string {
  const calls = toolCalls.flatMap((call) => [call.name, call.arguments])
  return [reasoning, text, refusal, ...calls].filter((part) => part !== '').join('\n')
}
