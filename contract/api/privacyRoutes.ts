import { type ApiRoute, members } from './route.ts'

/** Hardware attestations of the providers of the private tier. */
export const PRIVACY_ROUTES = {
  get_privacy_attestation: {
    method: 'GET',
    path: '/v1/privacy/attestation',
    auth: 'open',
    summary: 'The reports on the hardware of the providers of the private tier, or one report with its evidence',
    query: members({
      report: {
        type: 'string',
        pattern: '^att_[0-9A-Z]{26}$',
        description: 'the id of an attestation report, att_ and 26 characters',
      },
    }),
    cache: { maxAgeSeconds: 1 },
  },
} as const satisfies Record<string, ApiRoute>
