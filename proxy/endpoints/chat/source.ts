import type { ChatEndpoint } from '../../../contract/catalog/catalog.ts'
import type { RequestForm } from '../../../contract/catalog/requestForm.ts'
import type { TextSample } from '../../../workers/textSample.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Provider, Route } from '../../catalog/pricedItem.ts'
import type { ChatRequest } from '../../dialects/shared/chatRequest.ts'
import type { AskModel, ChatCodec, CutRequest, Printed } from '../../dialects/shared/codec.ts'
import type { LargeBody } from '../largeBodies/largeBodies.ts'
import { promptTexts } from '../tokens/promptTexts.ts'

/** The texts of a prompt, and the tokens that are not in them. */
export interface Prompt {
  readonly text: string | TextSample
  readonly extraTokens: number
}

/** The parts of a chat request for providers and for the tokenizer. */
export interface ChatSource {
  /** The request as providers of a dialect read it. */
  print(provider: Provider, codec: ChatCodec, model: Model): Printed
  /** @param imageTokens tokens that an image counts as */
  prompt(imageTokens: number): Prompt | Promise<Prompt>
}

/** A request that was read on the event loop. */
export class SmallSource implements ChatSource {
  private readonly request: ChatRequest
  /** Until the first provider is asked: it holds the whole body, which translations have no use for. */
  private cut: CutRequest | null

  constructor(request: ChatRequest, cut: CutRequest | null) {
    this.request = request
    this.cut = cut
  }

  print({ form }: Provider, codec: ChatCodec, model: Model): Printed {
    const { cut } = this
    this.cut = null
    return codec.print(this.request, askModel(model, form), cut)
  }

  prompt(imageTokens: number): Prompt {
    return promptTexts(this.request.forward, imageTokens)
  }
}

/** A request that another thread has read, and written for the providers that may be asked. */
export class LargeSource implements ChatSource {
  private readonly body: LargeBody
  private readonly endpoint: ChatEndpoint
  /** By the key of the form that they are in. */
  private readonly printed: ReadonlyMap<string, Printed>

  constructor(body: LargeBody, endpoint: ChatEndpoint, printed: ReadonlyMap<string, Printed>) {
    this.body = body
    this.endpoint = endpoint
    this.printed = printed
  }

  /** Has a request written for all providers of its routes. */
  static async of(
    body: LargeBody,
    endpoint: ChatEndpoint,
    model: Model,
    routes: readonly Route[],
  ): Promise<LargeSource> {
    const printed = new Map<string, Printed>()
    for (const { provider } of routes) {
      const key = formKey(provider)
      if (printed.has(key)) continue
      const { dialect, form } = provider
      printed.set(key, await body.run('print', { endpoint, dialect, model: askModel(model, form) }))
    }
    return new LargeSource(body, endpoint, printed)
  }

  print(provider: Provider): Printed {
    const printed = this.printed.get(formKey(provider))
    if (printed === undefined) throw new Error(`the request was not written for ${provider.id}`)
    return printed
  }

  prompt(imageTokens: number): Promise<Prompt> {
    return this.body.run('prompt', { endpoint: this.endpoint, imageTokens })
  }
}

/** The properties of a model that another thread needs. */
export function askModel(
  { thinking, pricesHour, maxOutput, pdfTokens }: Model,
  form: RequestForm | null = null,
): AskModel {
  return { thinking, pricesHour, maxOutput, pdfTokens, form }
}

/** Providers with the same key get the same requests, but for the model's name and the output limit. */
export function formKey({ id, dialect, form }: Provider): string {
  return form === null ? dialect : `${dialect} ${id}`
}
