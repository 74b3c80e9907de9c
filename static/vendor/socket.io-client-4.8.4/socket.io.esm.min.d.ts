// The part of the client that the worker uses.
export function io(url: string, options: object): import("../../js/types.js").SocketIoSocket;
