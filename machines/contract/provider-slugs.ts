import type { SlugRow } from './slug-row.ts';

/** The rows of the table of slugs for failures of a provider or of its connection. */
export const providerRows = {
  provider_error: {
    means: 'The provider failed.',
    happened: 'your reply did not arrive, because the provider failed; this was not your fault',
    todo: 'Reply again.',
    person: 'the provider failed',
    advice: 'The provider failed: try again later, or add another model to the agent.',
  },
  provider_timeout: {
    means: 'The reply did not arrive in time.',
    happened: 'your reply did not arrive in time; this was not your fault',
    todo: 'Reply again, as briefly as the task allows.',
    person: 'the reply did not come in time',
    advice: 'The provider answered too slowly: allow more time, or try another model.',
  },
  provider_auth: {
    means: 'The provider refused the credentials.',
    happened: 'your reply did not arrive, because the provider refused the credentials; this was not your fault',
    todo: 'Reply again.',
    person: 'the provider refused the credentials',
    advice: "Check that the provider's API key is set in the environment, is valid, and may use the model.",
  },
  provider_quota: {
    means: "The provider's quota is used up.",
    happened: "your reply did not arrive, because the provider's quota is used up; this was not your fault",
    todo: 'Reply again.',
    person: "the provider's quota is used up",
    advice: "Check the provider's plan and billing, or add another model to the agent.",
  },
  invalid_request: {
    means: 'The provider refused the request as invalid.',
    happened: 'your reply did not arrive, because the provider refused the request; this was not your fault',
    todo: 'Reply again.',
    person: 'the provider refused the request',
    advice: 'Check the name of the model and the settings; the provider refused the request as it was.',
  },
  rate_limited: {
    means: 'The provider limits the rate of requests.',
    happened: 'your reply did not arrive, because the provider limits the rate of requests; this was not your fault',
    todo: 'Reply again.',
    person: 'the provider limits the rate of requests',
    advice: 'The provider limits the rate: try again later, or add another model to the agent.',
  },
  network_error: {
    means: 'The connection to the provider failed.',
    happened: 'your reply did not arrive, because the connection failed; this was not your fault',
    todo: 'Reply again.',
    person: 'the connection to the provider failed',
    advice: 'Check that the provider can be reached: the address, the network, and that the server is running.',
  },
  stream_interrupted: {
    means: 'The stream broke off before the reply was complete.',
    happened: 'your reply did not arrive whole, because the stream broke off; none of its calls was executed',
    todo: 'Reply again, with the tool calls that you still want.',
    person: 'the stream of the reply broke off',
  },
  target_unavailable: {
    means: 'A model is not available here: its package, its key or the model itself is missing. Nothing was sent.',
    happened: 'your reply did not arrive, because a model is not set up; this was not your fault',
    todo: 'Reply again.',
    person: 'a model is not set up',
    advice: 'Install the package or set the key that is named above, or check the name of the model.',
  },
} satisfies Record<string, SlugRow>;
