/** An OAuth client of the MCP conformance suite: its person permits everything, by following the redirect. */
import {
  auth,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
} from '@modelcontextprotocol/client';

const redirectUrl = 'http://localhost:3000/callback';

export type Provider = OAuthClientProvider & {
  /** Exchanges the code that a person's permission gave. Returns false if none was asked for. */
  permitted(url: string): Promise<boolean>;
};

export function providerFor(context: Record<string, unknown>): Provider {
  const { client_id: id, client_secret: secret } = context as { client_id?: string; client_secret?: string };
  let information: OAuthClientInformationMixed | undefined =
    id === undefined ? undefined : { client_id: id, ...(secret !== undefined && { client_secret: secret }) };
  let tokens: OAuthTokens | undefined;
  let verifier = '';
  let found: OAuthDiscoveryState | undefined;
  let answered: URLSearchParams | null = null;
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    clientMetadata: {
      client_name: 'pawl conformance',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    clientInformation: () => information,
    saveClientInformation: (given) => {
      information = given;
    },
    tokens: () => tokens,
    saveTokens: (given) => {
      tokens = given;
    },
    saveCodeVerifier: (given) => {
      verifier = given;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (given) => {
      found = given;
    },
    discoveryState: () => found,
    redirectToAuthorization: async (address) => {
      const response = await fetch(address, { redirect: 'manual' });
      const location = response.headers.get('location');
      if (location !== null) answered = new URL(location).searchParams;
    },
  };
  const permitted = async (serverUrl: string) => {
    if (answered === null) return false;
    const [authorizationCode, iss] = [answered.get('code') ?? '', answered.get('iss') ?? undefined];
    answered = null;
    const result = await auth(provider, { serverUrl, authorizationCode, ...(iss !== undefined && { iss }) });
    // Next time, it may be another server that permits.
    found = undefined;
    return result === 'AUTHORIZED';
  };
  return { ...provider, permitted };
}
