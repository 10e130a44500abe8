import { readJsonBody } from '../../../contract/std/jsonBody.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { BufferedRun } from './bufferedRun.ts'
import { ImagePlan } from './imagePlan.ts'
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
}

class GenerationPlan extends ImagePlan {
  ask(route: Route): UnitProviderRequest {
    const { n } = this.request
    const body = JSON.stringify({ model: route.upstreamModel, n, ...Object.fromEntries(this.fields()) })
    return { path: '/images/generations', contentType: 'application/json', accept: 'application/json', body }
  }
}
