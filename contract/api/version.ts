/** The version of the gateway, that of package.json. */
export const GATEWAY_VERSION = '0.1.0'
