"""Between messages and the objects of the library: topics, services, the action, quality of service, real time."""
