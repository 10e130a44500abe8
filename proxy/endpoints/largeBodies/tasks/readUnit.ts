import { GatewayError } from '../../../../contract/errors/errors.ts'
import { readJsonBody } from '../../../../contract/std/jsonBody.ts'
import { refusalOf } from '../../../../contract/wire/refusal.ts'
import type { BodyRest } from '../../modalities/bodyRest.ts'
import { readEmbeddings } from '../../modalities/embeddings.ts'
import { readImageRequest } from '../../modalities/imageRequest.ts'
import type { ModalityLimits } from '../../modalities/limits.ts'
import { readRerank } from '../../modalities/rerank.ts'
import { readSpeech } from '../../modalities/speech.ts'
import { checkFirstFrame } from '../../videos/firstFrame.ts'
import type { VideoLimits } from '../../videos/limits.ts'
import { type CheckedFrame, readVideoRequest, type VideoRequest } from '../../videos/request.ts'
import type { UnitEndpoint } from '../largeTasks.ts'
import { sharedText } from '../sharedBytes.ts'

/** No value of a word that a model takes is longer. */
const WORD_CHARACTERS = 64

const READERS: Readonly<Record<UnitEndpoint, (body: Buffer, limits: ModalityLimits) => object>> = {
  embeddings: (body, limits) => shared(readEmbeddings(body, limits)),
  speech: (body, limits) => shared(readSpeech(body, limits)),
  images: (body, limits) => readImageRequest(readJsonBody(body, limits.jsonDepthMax), limits),
  rerank: readLargeRerank,
}

/** Reads a large request of an operation other than chat. */
export function readUnit(endpoint: UnitEndpoint, body: Buffer, limits: ModalityLimits): object {
  return READERS[endpoint](body, limits)
}

/** Reads a large request for a clip; its first frame is checked, and becomes bytes. */
export function readLargeVideo(body: Buffer, limits: VideoLimits): VideoRequest {
  const request = readVideoRequest(readJsonBody(body, limits.jsonDepthMax), limits)
  const { image, seconds, aspectRatio, resolution } = request
  const small = {
    ...request,
    image: image === undefined ? undefined : null,
    seconds: smallValue(seconds),
    aspectRatio: smallValue(aspectRatio),
    resolution: smallValue(resolution),
  }
  return image === undefined ? small : { ...small, frame: checkedFrame(image, limits) }
}

function checkedFrame(image: unknown, limits: VideoLimits): CheckedFrame {
  try {
    return { json: sharedText(JSON.stringify(checkFirstFrame(image, limits))) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { refusal: refusalOf(error) }
  }
}

// A value that is not small is invalid for every model; false is invalid too, and takes its place.
function smallValue(value: unknown): unknown {
  if (value === undefined || typeof value === 'number') return value
  return typeof value === 'string' && value.length <= WORD_CHARACTERS ? value : false
}

function shared<Request extends { readonly rest: BodyRest }>(request: Request): Request {
  return { ...request, rest: sharedRest(request.rest) }
}

function sharedRest(rest: BodyRest): BodyRest {
  return typeof rest === 'string' ? sharedText(rest) : rest
}

function readLargeRerank(body: Buffer, limits: ModalityLimits): object {
  const request = shared(readRerank(body, limits))
  const { returned } = request
  if (returned === null || 'ends' in returned) return request
  let end = 0
  const ends = returned.map((text) => {
    end += Buffer.byteLength(text)
    return end
  })
  return { ...request, returned: { bytes: sharedText(returned.join('')), ends } }
}
