import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';

/** What a client knows of a connection that is gone, or could not be opened. */
const withoutConnection: readonly SdkErrorCode[] = [
  SdkErrorCode.NotConnected,
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.SendFailed,
  SdkErrorCode.RequestTimeout,
];

/** Whether the server answered: with an error, or with what violates the protocol. */
export function isAnswer(error: unknown): error is ProtocolError | SdkError {
  return error instanceof ProtocolError || (error instanceof SdkError && !withoutConnection.includes(error.code));
}

/** What a server said with an error; of what violates the protocol, only that it does. */
export function saidWith(error: ProtocolError | SdkError, server: string): string {
  const isInvalid = error instanceof SdkError && error.code === SdkErrorCode.InvalidResult;
  return isInvalid ? `The server ${server} returned an invalid result.` : error.message;
}
