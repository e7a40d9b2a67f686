package tunnel;
public interface ConnectionStatsMBean { long getFrames(); String getPeer(); }
