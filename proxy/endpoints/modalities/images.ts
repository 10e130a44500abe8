import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { BufferedRun } from './bufferedRun.ts'
import { ImageEventPlan, ImagePlan } from './imagePlan.ts'
import { type ImageRequest, readImageRequest } from './imageRequest.ts'
import type { BufferedPlan, Operation, UnitProviderRequest } from './operation.ts'

/** POST /v1/images/generations. */
export const images: Operation<ImageRequest, BufferedPlan> = {
  endpoint: 'images',
  upload: false,
  streamed: false,
  Run: BufferedRun,
  read: (body, _head, limits) => readImageRequest(readJsonBody(body, limits.jsonDepthMax), limits),
  plan: (request, context) => new GenerationPlan(request, context),
  events: {
    asks: ({ partialImages }) => partialImages !== null,
    kind: 'images',
    param: 'stream',
    plan: (request, context) => new ImageEventPlan(new GenerationPlan(request, context), 'image_generation', context),
  },
}

class GenerationPlan extends ImagePlan {
  ask(route: Route): UnitProviderRequest {
    const { n, partialImages } = this.request
    const streamed = partialImages === null ? {} : { stream: true, partial_images: partialImages }
    const body = JSON.stringify({ model: route.upstreamModel, n, ...Object.fromEntries(this.fields()), ...streamed })
    return { path: '/images/generations', contentType: 'application/json', accept: 'application/json', body }
  }
}
