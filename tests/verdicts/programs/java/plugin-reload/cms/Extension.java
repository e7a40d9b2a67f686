package cms;
public interface Extension { void start() throws Exception; void stop() throws Exception; }
