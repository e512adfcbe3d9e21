// Stands in for the assistant that the reference component would load on demand and that calls a hosted service.
export const Chat = () => null;
