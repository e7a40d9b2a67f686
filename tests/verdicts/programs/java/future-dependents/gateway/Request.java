package gateway;
public class Request { final int id; final String body; Request(int id, String body) { this.id = id; this.body = body; } }
